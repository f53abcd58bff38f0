// The package as npm packs it, installed in a folder, and programs beside it.
import { execFile } from "node:child_process";
import { cp, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

export const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** Returns what a program prints. The error of one that fails has it, too. */
export async function run(cwd, command, args, env = {}) {
  try {
    return (await promisify(execFile)(command, args, { cwd, env: { ...process.env, ...env }, maxBuffer: 2 ** 24 })).stdout;
  } catch (error) {
    throw new Error(`${command} ${args.join(" ")}\n${error.stdout}\n${error.stderr}`);
  }
}

/** Returns what a tool of the development dependencies prints. */
export const tool = (cwd, path, ...args) => run(cwd, process.execPath, [join(ROOT, "node_modules", path), ...args]);

/** Returns a new folder in which the packed package is installed, and its tarball. */
export async function pack() {
  const folder = await mkdtemp(join(tmpdir(), "alma-packed-"));
  const [packed] = JSON.parse(await run(ROOT, "npm", ["pack", "--json", "--ignore-scripts", "--pack-destination", folder]));
  const tarball = join(folder, packed.filename);
  await writeFile(join(folder, "package.json"), "{}");
  await run(folder, "npm", ["install", "--offline", "--no-audit", "--no-fund", "--no-package-lock", tarball]);
  return { folder, tarball };
}

/** Returns the folder of a program of the fixtures, beside the package. */
export async function prepare(folder, name) {
  const program = join(folder, name);
  await cp(join(ROOT, "test", "fixtures", name), program, { recursive: true });
  return program;
}
