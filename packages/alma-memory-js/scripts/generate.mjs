// Writes the schemas of the server's committed OpenAPI document as TypeScript. With --check it only compares.
import { readFile, writeFile } from "node:fs/promises";
import openapiTS, { astToString } from "openapi-typescript";

const target = new URL("../src/schema.ts", import.meta.url);
const { openapi, info, components } = JSON.parse(
  await readFile(new URL("../../../docs/reference/openapi.json", import.meta.url), "utf8"),
  (name, value) => (name === "title" && typeof value === "string" ? undefined : value), // they only repeat the names
);
const schemas = { openapi, info: { title: "ALMA", ...info }, paths: {}, components: { schemas: components.schemas } };
const options = { defaultNonNullable: false, emptyObjectsUnknown: true, exportType: false };
const text =
  "// Made from docs/reference/openapi.json by `npm run generate`. Do not edit.\n" +
  astToString(await openapiTS(schemas, options)).replace(/export (type|interface) (paths|webhooks|operations|\$defs)\b[^\n]*\n/g, "");

if (!process.argv.includes("--check")) {
  await writeFile(target, text);
} else if ((await readFile(target, "utf8")) !== text) {
  console.error("src/schema.ts differs from docs/reference/openapi.json: npm run generate");
  process.exit(1);
}
