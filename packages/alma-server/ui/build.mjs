// Builds the page into src/alma_server/static: three files, two of them named by a hash of their content.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";

const here = new URL(".", import.meta.url);
const target = new URL("../src/alma_server/static/", here);

const { outputFiles } = await build({
  absWorkingDir: new URL(".", here).pathname,
  entryPoints: ["src/main.tsx"],
  outdir: "out",
  bundle: true,
  write: false,
  minify: true,
  format: "iife",
  target: ["es2022", "chrome123", "firefox120", "safari17.5"],
  jsx: "automatic",
  jsxImportSource: "preact",
  charset: "utf8",
  legalComments: "none",
});

let page = await readFile(new URL("index.html", here), "utf8");
await mkdir(target, { recursive: true });
for (const name of await readdir(target)) await rm(new URL(name, target));
for (const { path, contents } of outputFiles) {
  const ending = path.split(".").at(-1);
  const name = `explorer-${createHash("sha256").update(contents).digest("hex").slice(0, 12)}.${ending}`;
  await writeFile(new URL(name, target), contents);
  page = page.replace(`explorer.${ending}`, name);
}
await writeFile(new URL("index.html", target), page);
