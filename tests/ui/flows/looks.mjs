// What every view has to be: without faults for assistive technology, without a bar to scroll sideways, of one origin.
import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { asking, Person } from "./person.mjs";

const require = createRequire(new URL("../../../packages/alma-server/ui/package.json", import.meta.url));

/** Returns the address of every view, with what may be open in it. */
async function places(ask) {
  const one = async (kind) => (await ask("GET", `memories?kind=${kind}&order=oldest&limit=1`)).memories[0];
  const rule = await one("heuristic");
  const task = encodeURIComponent("Test the login form");
  const always = {
    search: "search",
    memories: "memories",
    strategies: "strategies",
    review: "review",
    timeline: "timeline",
    graph: "graph",
    entities: "entities",
    "a missing entity": "entities/none",
    journal: "journal",
    live: "live",
    service: "service",
    "a missing memory": "memory/none",
    "a missing view": "nowhere",
  };
  if (!rule) return always;
  const others = await Promise.all(["outcome", "anti_pattern", "domain_knowledge", "user_preference"].map(one));
  return {
    ...always,
    results: `search?q=${task}&why=${rule.id}`,
    quarantine: "memories?status=quarantined",
    prompt: `strategies?task=${task}&line=H1&action=Sleep&way=Start+with+the+happy+path`,
    rule: `memory/${rule.id}?task=${task}`,
    "graph of a rule": `graph/${rule.id}`,
    "graph of an outcome": `graph/${others[0].id}`,
    "an entity": "entities/Alice",
    "an entity of then": "entities/Globex?as_of=2025-01-01",
    ...Object.fromEntries(others.map((memory) => [memory.kind, `memory/${memory.id}`])),
  };
}

async function settled(page) {
  await page.locator("h1").first().waitFor();
  await page.waitForFunction(() => !document.querySelector(".skeleton"));
}

/** Yields each view once it is there. */
async function* tour({ page, context }, given) {
  context.setDefaultTimeout(10_000);
  const person = new Person(page, given);
  await person.open("search");
  await settled(page);
  for (const [name, place] of Object.entries(await places(asking(page, given)))) {
    await page.evaluate((hash) => (location.hash = `#/${hash}`), place);
    await page.waitForTimeout(50);
    await settled(page);
    yield { name, person };
  }
}

/** Returns what axe-core finds, by view. */
export async function faults(at, given) {
  const { page } = at;
  const axe = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
  const found = {};
  const look = async (name) => {
    if (!(await page.evaluate("Boolean(globalThis.axe)"))) await page.evaluate(axe);
    const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ["violations"], rules: { "target-size": { enabled: true } } }));
    if (violations.length) found[name] = violations.map((each) => `${each.id}: ${each.nodes.map((node) => `${node.target} ${node.failureSummary}`).slice(0, 3).join(" | ")}`);
  };
  for await (const { name, person } of tour(at, given)) {
    await look(name);
    if (name === "journal" && (await page.getByRole("button", { name: /^Undo to/ }).count())) {
      await person.press(person.button(/^Undo to/));
      await person.sees("Would reverse");
      await look("a dry run");
      await page.keyboard.press("Escape");
    }
    if (name === "service") {
      for (const each of await page.locator("summary").all()) await each.click();
      await look("forms of the service");
    }
    if (name === "domain_knowledge") {
      await person.press(person.button("Edit"));
      await look("an edit");
    }
  }
  await page.keyboard.press("Escape");
  await page.evaluate(() => document.activeElement.blur());
  await page.keyboard.press("?");
  await page.getByRole("dialog").waitFor();
  await look("keys");
  await page.evaluate(() => sessionStorage.removeItem("alma-session"));
  await page.reload();
  await page.getByLabel("Token of this server").waitFor();
  await look("the door");
  return found;
}

/** Returns how far views are wider than the window, by view; none of those that fit. */
export async function tooWide(at, given) {
  const found = {};
  for (const width of [320, 390, 768, 1920]) {
    await at.page.setViewportSize({ width, height: 800 });
    for await (const { name } of tour(at, given)) {
      const over = await at.page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
      if (over > 0) found[`${name} at ${width}`] = over;
    }
  }
  return found;
}

/** Visits every view, and returns the texts that they show. */
export async function texts(at, given) {
  const found = {};
  for await (const { name } of tour(at, given)) found[name] = await at.page.locator("body").innerText();
  return found;
}

/** Writes the pictures of the guide. */
export async function pictures(at, given) {
  const { page } = at;
  const all = await places(asking(page, given));
  const person = new Person(page, given);
  await person.open("search");
  for (const [file, place] of [
    ["search", all.results.replace(/&why=.*/, "")],
    ["strategies", all.prompt.replace("&line=H1", "").replace("Sleep", "Sleep+for+five+seconds")],
    ["review", "review"],
    ["timeline", "timeline"],
    ["graph", all["graph of a rule"]],
    ["entities", all["an entity"]],
    ["memory", all.rule.replace(/\?.*/, "")],
  ]) {
    await page.evaluate((hash) => (location.hash = `#/${hash}`), place);
    await page.waitForTimeout(300);
    await settled(page);
    await page.waitForTimeout(300);
    await page.evaluate(() => (document.activeElement.blur(), scrollTo(0, 0)));
    await writeFile(`${given.folder}/explorer_${file}.png`, await page.screenshot());
  }
}

const ACTS = /^(Archive|Erase|Release|Edit|Helpful|Not helpful|Used|Undo|Sign out|Verify|Success|Failure|In part|Not judged)/;

/** Reads a copy of the page that has no server, and returns the texts of its views and the acts that they offer. */
export async function copy({ page, context }, { address }) {
  context.setDefaultTimeout(10_000);
  const seen = {};
  const acts = [];
  const look = async (name) => {
    await settled(page);
    seen[name] = await page.locator("main").innerText();
    for (const button of await page.getByRole("button", { name: ACTS }).all()) acts.push(`${name}: ${await button.innerText()}`);
  };
  await page.goto(`${address}#/search`);
  await look("search");
  seen.views = await page.getByRole("navigation", { name: "Views" }).innerText();
  for (const view of ["Memories", "Strategies", "Review", "Timeline", "Graph", "Journal"]) {
    await page.getByRole("navigation", { name: "Views" }).getByRole("link", { name: view }).click();
    await page.getByRole("heading", { level: 1, name: view }).waitFor();
    await look(view.toLowerCase());
  }
  await page.goto(`${address}#/strategies`);
  await page.locator(".row-button").first().click();
  await page.locator(".behind tbody tr").first().waitFor();
  await page.getByRole("link", { name: "The rule that was formed of it" }).click();
  await page.locator(".outcomes tbody tr").first().waitFor();
  await look("rule");
  await page.getByRole("link", { name: "Graph around it" }).click();
  await page.locator(".spot").nth(1).waitFor();
  await page.goto(`${address}#/search`);
  await page.getByLabel("Words").fill("sandbox declines");
  await page.keyboard.press("Enter");
  await page.getByText("1 memory").waitFor();
  await page.getByRole("link", { name: /sandbox declines/ }).click();
  await page.locator(".history li").first().waitFor();
  await look("fact");
  return { seen, acts };
}
