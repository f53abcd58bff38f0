import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, it } from "node:test";
import { ALMA } from "alma-memory";
import { pack, prepare, ROOT, run, tool } from "./packed.mjs";
import { Server } from "./serving.mjs";

const ADDRESS = /http:\/\/(localhost|127\.0\.0\.1):8765/g;
const PAGES = { guide: "docs/guides/typescript.md", readme: "packages/alma-memory-js/README.md" };
let folder, server;

before(async () => {
  server = await Server.start({ project: "my-project" });
  ({ folder } = await pack());
});
after(async () => {
  await server.stop();
  await rm(folder, { recursive: true, force: true });
});

const node = (program, file) => run(program, process.execPath, [file], { ALMA_TOKEN: server.token });

/** Puts the address of the tests' server in the place of the usual one. */
async function direct(file) {
  const text = await readFile(file, "utf8");
  assert.match(text, ADDRESS);
  await writeFile(file, text.replace(ADDRESS, server.baseUrl));
}

it("the quick start of the published README runs, as an ES module", async () => {
  const program = await prepare(folder, "esm");
  await direct(join(program, "main.mjs"));
  assert.match(await node(program, "main.mjs"), /^\[\]\n/);
});

it("the quick start of the published documentation runs, as CommonJS", async () => {
  const program = await prepare(folder, "cjs");
  await direct(join(program, "main.js"));
  assert.equal(await node(program, "main.js"), "0 function\n");
  const { stats } = await new ALMA(server.config).stats("dev-agent");
  assert.deepEqual([stats.project_id, stats.outcomes_count], ["my-project", 1]);
});

it("the examples of the published README, of the guide and of our README compile strictly, and run from top to bottom", async () => {
  const program = await prepare(folder, "node16");
  for (const [name, page] of Object.entries(PAGES)) {
    const text = await readFile(join(ROOT, "..", "..", page), "utf8");
    const blocks = [...text.matchAll(/^```typescript\n(.*?)^```$/gms)].map(([, block]) => block);
    await writeFile(join(program, `${name}.ts`), blocks.join("\n").replace('projectId: "shop"', 'projectId: "my-project"'));
  }
  for (const name of ["main", ...Object.keys(PAGES)]) await direct(join(program, `${name}.ts`));
  await tool(program, "typescript/bin/tsc", "-p", ".", "--typeRoots", join(ROOT, "node_modules", "@types"));
  const said = await node(program, "main.js");
  assert.match(said, /Server healthy with \d+ memories/);
  assert.match(said, /Invalid input: topK - topK: /);
  await node(program, "required.cjs");
  assert.match(await node(program, "guide.js"), /Empty fields first[^]*\{ step: 3 \}[^]*memory no-such-id/);
  await node(program, "readme.js");
});
