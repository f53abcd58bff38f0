import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { ALMA, VERSION } from "alma-memory";
import { Server } from "./serving.mjs";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TYPES = join(ROOT, "node_modules", "@types");
const PUBLISHED_ADDRESS = "http://localhost:8765";
const ANY_ADDRESS = /http:\/\/(localhost|127\.0\.0\.1):8765/;
const OFFLINE = ["--offline", "--no-audit", "--no-fund", "--no-package-lock"];
const MOST_BYTES = 8_000;
let folder, tarball, server;

async function run(cwd, command, ...args) {
  const { ALMA_TOKEN: _, ...env } = process.env;
  const given = { cwd, env: { ...env, ...(server && { ALMA_TOKEN: server.token }) }, maxBuffer: 2 ** 24 };
  try {
    return (await promisify(execFile)(command, args, given)).stdout;
  } catch (error) {
    throw new Error(`${command} ${args.join(" ")}\n${error.stdout}\n${error.stderr}`);
  }
}
const node = (cwd, ...args) => run(cwd, process.execPath, ...args);
const tool = (cwd, path, ...args) => node(cwd, join(ROOT, "node_modules", path), ...args);

/** Returns the folder of a program that has the packed package, with the address of the tests' server for the published one. */
async function installed(name, ...files) {
  const program = join(folder, name);
  await cp(join(ROOT, "test", "fixtures", name), program, { recursive: true });
  for (const file of files) {
    const text = await readFile(join(program, file), "utf8");
    assert.ok(text.includes(PUBLISHED_ADDRESS));
    await writeFile(join(program, file), text.replaceAll(PUBLISHED_ADDRESS, server.baseUrl));
  }
  await run(program, "npm", "install", ...OFFLINE, tarball);
  return program;
}

before(async () => {
  folder = await mkdtemp(join(tmpdir(), "alma-packed-"));
  const [packed] = JSON.parse(await run(ROOT, "npm", "pack", "--json", "--ignore-scripts", "--pack-destination", folder));
  tarball = join(folder, packed.filename);
  server = await Server.start();
  const text = await readFile(server.file, "utf8");
  await writeFile(server.file, text.replace("project_id: shop", "project_id: my-project"));
  await server.end();
  await server.run();
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

it("the package passes publint and are-the-types-wrong, and has no dependencies", async () => {
  const { dependencies, peerDependencies = {}, peerDependenciesMeta = {}, version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  assert.equal(dependencies, undefined);
  assert.ok(Object.keys(peerDependencies).every((name) => peerDependenciesMeta[name]?.optional));
  assert.equal(VERSION, version);
  await tool(ROOT, "publint/src/cli.js", "run", tarball, "--strict");
  await tool(ROOT, "@arethetypeswrong/cli/dist/index.js", tarball, "--profile", "node16");
});

it("the types are those of the server's document, and the reference is of the sources", async () => {
  await node(ROOT, "scripts/generate.mjs", "--check");
  await node(ROOT, "scripts/reference.mjs", "--check");
});

it("the quick start of the published README runs, as an ES module", async () => {
  const said = await node(await installed("esm", "main.mjs"), "main.mjs");
  assert.match(said, /^\[\]\n/);
});

it("the quick start of the published documentation runs, as CommonJS", async () => {
  const program = await installed("cjs", "main.js");
  assert.equal(await node(program, "main.js"), "0 function\n");
  const { stats } = await new ALMA(server.config).stats("dev-agent");
  assert.deepEqual([stats.project_id, stats.outcomes_count], ["my-project", 1]);
});

it("all examples of the published README compile strictly, and run", async () => {
  const program = await installed("node16", "main.ts");
  await tool(program, "typescript/bin/tsc", "-p", ".", "--typeRoots", TYPES);
  const said = await node(program, "main.js");
  assert.match(said, /Server healthy with \d+ memories/);
  assert.match(said, /Invalid input: topK - topK: /);
  await node(program, "required.cjs");
});

for (const page of ["docs/guides/typescript.md", "packages/alma-memory-js/README.md"]) {
  it(`the blocks of ${page} compile, and run from top to bottom`, async () => {
    const text = await readFile(join(ROOT, "..", "..", page), "utf8");
    const blocks = [...text.matchAll(/^```typescript\n(.*?)^```$/gms)].map(([, block]) => block);
    const program = join(folder, page.replaceAll(/\W/g, "-"));
    await mkdir(program);
    await writeFile(join(program, "package.json"), '{ "private": true, "type": "module" }');
    await writeFile(join(program, "main.ts"), blocks.join("\n").replace(ANY_ADDRESS, server.baseUrl).replace('"shop"', '"my-project"'));
    await run(program, "npm", "install", ...OFFLINE, tarball);
    const options = ["--module", "node16", "--target", "es2022", "--strict", "--exactOptionalPropertyTypes", "--types", "node", "--typeRoots", TYPES];
    await tool(program, "typescript/bin/tsc", ...options, "main.ts");
    await node(program, "main.js");
  });
}

it("a bundler resolves the types, and the client stays small", async () => {
  const program = await installed("bundler");
  await tool(program, "typescript/bin/tsc", "-p", ".");
  const sizeOf = async (contents) => {
    const options = { bundle: true, minify: true, format: "esm", write: false, stdin: { contents, resolveDir: program } };
    return gzipSync((await build(options)).outputFiles[0].contents, { level: 9 }).length;
  };
  const bytes = await sizeOf('export * from "alma-memory"');
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`);
  assert.ok((await sizeOf('export * from "alma-memory/webhooks"')) < bytes / 4);
  assert.ok((await sizeOf('export { isNotFoundError } from "alma-memory"')) < bytes / 4);
});
