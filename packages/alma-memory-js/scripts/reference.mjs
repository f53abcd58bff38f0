// Writes docs/reference/typescript_api.md from the sources. With --check it only compares.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const root = fileURLToPath(new URL("..", import.meta.url));
const target = new URL("../../../docs/reference/typescript_api.md", import.meta.url);
const INTERNAL = new Set(["Answer", "Arguments", "Schemas"]);
const LONGEST = 140;

const { exports } = JSON.parse(await readFile(`${root}/package.json`, "utf8"));
const entries = Object.entries(exports).flatMap(([name, paths]) => {
  const file = /esm\/(.+)\.js$/.exec(paths.import?.default)?.[1];
  return file ? [[name.replace(/^\./, "alma-memory"), `${root}/src/${file}.ts`]] : [];
});
const { config } = ts.readConfigFile(`${root}/tsconfig.json`, ts.sys.readFile);
const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root);
const program = ts.createProgram({ rootNames: entries.map(([, file]) => file), options });
const checker = program.getTypeChecker();

const real = (symbol) => (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol);
const cell = (text) => text.replace(/\b[TW]\./g, "").replaceAll("|", "\\|").replace(/\s+/g, " ").trim();
const code = (text, longest = 400) => `\`${cell(text).length > longest ? `${cell(text).slice(0, longest)}…` : cell(text)}\``;
const doc = (symbol) => ts.displayPartsToString(symbol.getDocumentationComment(checker));
const shown = (type, node) => checker.typeToString(type, node, ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope);

/** Whether a member is shown: a public one, of this class and of no other, and of all options only once. */
function isShown({ name, declarations = [] }, owner) {
  if (name === "name" || name === "prototype") return false;
  const isOf = (each, other) => each.parent === other || each.parent.parent === other;
  return declarations.every((each) => {
    if (ts.getCombinedModifierFlags(each) & ts.ModifierFlags.Private) return false;
    if (ts.isClassDeclaration(owner)) return isOf(each, owner);
    return owner.name.text === "CallOptions" || each.parent.name?.text !== "CallOptions";
  });
}

function members(type, node) {
  return type.getProperties().filter((each) => isShown(each, node)).flatMap((each) => {
    const of = checker.getTypeOfSymbolAtLocation(each, node);
    const name = each.name.startsWith("__@") ? `[Symbol.${each.name.slice(3).replace(/@\d+$/, "")}]` : each.name;
    const signatures = of.getCallSignatures();
    const isMethod = signatures.length > 0 && each.flags & ts.SymbolFlags.Method;
    const field = each.flags & ts.SymbolFlags.Optional ? `${name}?: ${shown(of, node).replace(/( \| null)?( \| undefined)?$/, "")}` : `${name}: ${shown(of, node)}`;
    const text = isMethod ? `${name}${checker.signatureToString(signatures[0], node)}` : field;
    return [`| ${code(text, LONGEST)} | ${cell(doc(each))} |`];
  });
}

function section(symbol) {
  const declaration = symbol.declarations[0];
  const isValue = symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Function | ts.SymbolFlags.Variable);
  const type = symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Interface | ts.SymbolFlags.TypeAlias) ? checker.getDeclaredTypeOfSymbol(symbol) : checker.getTypeOfSymbolAtLocation(symbol, declaration);
  const [call] = isValue ? type.getCallSignatures() : [];
  const lines = [`### ${symbol.name}`, "", ...[doc(symbol)].filter(Boolean).flatMap((text) => [text, ""])];
  const isUnion = symbol.flags & ts.SymbolFlags.TypeAlias && type.isUnion();
  const rows = call || isUnion || type.flags & ts.TypeFlags.StringLike ? [] : members(type, declaration);
  if (call) lines.push(code(`${symbol.name}${checker.signatureToString(call, declaration)}`), "");
  else if (rows.length) lines.push("| | |", "|---|---|", ...rows, "");
  else if (isUnion) lines.push(type.types.every((each) => each.isStringLiteral()) ? type.types.map((each) => code(each.value)).join(", ") : code(declaration.type.getText().replace(/^\s*\|/, "")), "");
  else if (symbol.flags & ts.SymbolFlags.TypeAlias) lines.push(code(declaration.type.getText()), "");
  return lines;
}

const lines = ["# TypeScript API", "", "All names of the client, made from its sources by `npm run generate`. The [guide](../guides/typescript.md) shows how they are used. Every object of options takes `CallOptions` too, but where these are an argument of their own.", ""];
const seen = new Set(INTERNAL);
for (const [name, file] of entries) {
  const symbols = checker.getExportsOfModule(checker.getSymbolAtLocation(program.getSourceFile(file))).map(real);
  const isClass = (symbol) => (symbol.flags & (ts.SymbolFlags.Class | ts.SymbolFlags.Function | ts.SymbolFlags.Variable) ? 0 : 1);
  lines.push(`## ${name}`, "");
  for (const symbol of symbols.sort((a, b) => isClass(a) - isClass(b) || a.name.localeCompare(b.name, "en"))) {
    if (seen.has(symbol.name)) continue;
    seen.add(symbol.name);
    lines.push(...section(symbol));
  }
}
const text = `${lines.join("\n").trimEnd()}\n`;

if (!process.argv.includes("--check")) {
  await writeFile(target, text);
} else if ((await readFile(target, "utf8")) !== text) {
  console.error("docs/reference/typescript_api.md differs from the sources: npm run generate");
  process.exit(1);
}
