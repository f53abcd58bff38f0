import assert from "node:assert/strict";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { VERSION } from "alma-memory";
import { pack, prepare, ROOT, run, tool } from "./packed.mjs";

const MOST_BYTES = 8_000;
let folder, tarball;

before(async () => {
  ({ folder, tarball } = await pack());
});
after(() => rm(folder, { recursive: true, force: true }));

it("the package passes publint and are-the-types-wrong, and has no dependencies", async () => {
  const { dependencies, peerDependencies = {}, peerDependenciesMeta = {}, version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  assert.equal(dependencies, undefined);
  assert.ok(Object.keys(peerDependencies).every((name) => peerDependenciesMeta[name]?.optional));
  assert.equal(VERSION, version);
  await tool(ROOT, "publint/src/cli.js", "run", tarball, "--strict");
  await tool(ROOT, "@arethetypeswrong/cli/dist/index.js", tarball, "--profile", "node16");
});

it("the types are those of the server's document, and the reference is of the sources", async () => {
  for (const script of ["generate", "reference"]) await run(ROOT, process.execPath, [`scripts/${script}.mjs`, "--check"]);
});

it("a bundler resolves the types, and the client stays small", async () => {
  const program = await prepare(folder, "bundler");
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
