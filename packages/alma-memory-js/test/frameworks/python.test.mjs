// Agents of both languages learn together: a call reads the same, and a run is credited the same. Needs Node 22, which reads TypeScript.
import assert from "node:assert/strict";
import { it } from "node:test";
import { creditOf, nameCall, readArguments } from "../../src/tool-calls.ts";
import { python } from "../serving.mjs";

const CALLS = [
  ["deploy", { way: "rolling", service: "auth" }, "Deploy the auth service"],
  ["deploy", { way: "blue-green", dry_run: true, replicas: 3 }, "Deploy"],
  ["deploy", { region: "eu-west-1", model: "gpt-4o" }, "Deploy"],
  ["search", { query: "all the orders of the last week that failed", limit: 10 }, "Find orders"],
  ["open", { path: "/etc/hosts", url: "https://example.org", to: "ann@example.org" }, "Open it"],
  ["login", { password: "hunter2", apiKey: "abc", authToken: "x", user: "ann" }, "Log in"],
  ["book", { seat: "12A", order: "8123", day: "Monday", at: "12:30" }, "Book a seat"],
  ["note", { text: "two\nlines", empty: "", sign: "!", list: ["a"], nothing: null }, "Note"],
  ["say", { Zulu: "x", alpha: "y", _b: "z", quoted: 'a "b"' }, "Say"],
  ["pay", { card: "visa", way: "Visa card" }, "Pay by visa card"],
  ["name", { city: "Köln", word: "日本" }, "Name a town"],
  ["run", {}, "Run"],
];
const ASKED = ['{"way": "rolling"}', '{"way": ', "plain words", "", "[1]", null, { a: 1 }];
const NAMED = `
import json, sys
from alma_integration.calls import named_call, tool_use
print(json.dumps([named_call(tool_use(name, given, task=task)) for name, given, task in json.loads(sys.argv[1])]))`;
const CREDITED = `
import json, sys
from alma_integration.credit import ToolStep, strategy_of, unrepaired
def credit(steps, outcome):
    steps = [ToolStep(step["agent"], step["tool"], step["action"], step["ok"], {}, error=step["error"]) for step in steps]
    failed = unrepaired(steps) if outcome in ("failure", "unverified") else None
    if failed is not None:
        return [failed.action, failed.error] if outcome == "failure" and failed.agent == "a" else [None, None]
    return [strategy_of([step for step in steps if step.agent == "a"]), None]
print(json.dumps([credit(*each) for each in json.loads(sys.argv[1])]))`;

it("names calls as the adapters of Python do", async () => {
  const asked = ASKED.map((given) => ["ask", given, "Ask"]);
  const named = JSON.parse(await python("-c", NAMED, JSON.stringify([...CALLS, ...asked])));
  assert.deepEqual([...CALLS, ...asked].map(([tool, given, task]) => nameCall(tool, readArguments(given), task)), named);
});

it("credits runs as the adapters of Python do", async () => {
  let seed = 7;
  const pick = (items) => {
    seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0;
    return items[Math.floor((seed / 2 ** 32) * items.length)];
  };
  const runs = Array.from({ length: 250 }, () => {
    const steps = Array.from({ length: pick([0, 1, 2, 3, 4, 5, 6]) }, () => {
      const tool = pick(["deploy", "verify", "write_todos"]);
      return { agent: pick(["a", "a", "b"]), tool, action: `${tool}(${pick([1, 2, 3])})`, ok: pick([true, false, null]), error: "502", arguments: {} };
    });
    return [steps, pick(["success", "failure", "partial", "unverified"])];
  });
  const credited = JSON.parse(await python("-c", CREDITED, JSON.stringify(runs)));
  const own = runs.map(([steps, outcome]) => creditOf(steps.map((step) => ({ ...step, ok: step.ok ?? undefined })), "a", outcome));
  assert.deepEqual(own.map(({ strategy, error }) => [strategy, error]), credited);
  assert.ok(new Set(credited.map(String)).size > 30, `${new Set(credited.map(String)).size}`);
});
