// Writes dist/: ES modules that share code, CommonJS, and declarations for both.
import { execFileSync } from "node:child_process";
import { cp, readFile, rm, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const root = fileURLToPath(new URL("..", import.meta.url));
const { exports } = JSON.parse(await readFile(`${root}/package.json`, "utf8"));
const names = Object.values(exports).flatMap((each) => /esm\/(.+)\.js$/.exec(each.import?.default)?.[1] ?? []);
const options = {
  absWorkingDir: root,
  entryPoints: names.map((name) => `src/${name}.ts`),
  bundle: true,
  packages: "external",
  target: "es2022",
  minifySyntax: true,
  minifyWhitespace: true,
};

await rm(`${root}/dist`, { recursive: true, force: true });
await build({ ...options, format: "esm", splitting: true, outdir: "dist/esm" });
await build({ ...options, format: "cjs", outdir: "dist/cjs" });
execFileSync(process.execPath, [`${root}/node_modules/typescript/bin/tsc`, "-p", root], { stdio: "inherit" });
await cp(`${root}/dist/esm`, `${root}/dist/cjs`, { recursive: true, filter: (path) => !path.endsWith(".js") });
await writeFile(`${root}/dist/cjs/package.json`, '{"type": "commonjs"}\n');
