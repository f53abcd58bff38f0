/** One call of a tool in a run. `ok` is `undefined` where the outcome is unknown. `action` is the call in words, as it is stored. */
export interface ToolStep {
  agent: string;
  tool: string;
  action: string;
  arguments: Record<string, unknown>;
  ok: boolean | undefined;
  output?: string | undefined;
  error?: string | undefined;
}

const SECRET = /passw|passphrase|pwd|secret|credential|authori[sz]ation|api_?key|(^|_)key(_|$)|token(_|$)/;
const VARYING = /\d{3}|\d:\d\d|[\\/@]|:\/\//;
const CHOICE_CHARS = 40;
const CHOICE_WORDS = 3;
const STRATEGY_CHARS = 600;
/** Tools that keep a list of what is to be done: steps, but no part of a strategy. */
const PLANS = new Set(["write_todos", "write_todo", "todo_write", "todowrite", "update_plan"]);

/**
 * Returns a call in words: `deploy(service, way="rolling")`.
 *
 * Values that vary from task to task are left out, so that two calls that do the same read the same: numbers, ids, paths, long texts, and
 * words of the task. Secrets are shown as `***`.
 */
export function nameCall(tool: string, given: Record<string, unknown>, task: string): string {
  const named = Object.keys(given)
    .sort()
    .map((name) => (isChoice(given[name], task) ? `${name}=${JSON.stringify(isSecret(name) ? "***" : given[name])}` : name));
  return named.length ? `${tool}(${named.join(", ")})` : tool;
}

/** Returns the arguments of a call, which frameworks give as an object or as the JSON that the model wrote; none of broken JSON. */
export function readArguments(given: unknown): Record<string, unknown> {
  if (typeof given === "string" && given.trim()) {
    try {
      return readArguments(JSON.parse(given));
    } catch {
      return /^\s*[{[]/.test(given) ? {} : { input: given };
    }
  }
  if (isObject(given)) return given;
  return given ? { input: given } : {};
}

function isChoice(value: unknown, task: string): boolean {
  if (typeof value === "boolean") return true;
  if (typeof value !== "string" || value.length > CHOICE_CHARS || /[\r\n]/.test(value)) return false;
  const words = wordsOf(value);
  if (!words || words.split(" ").length > CHOICE_WORDS || VARYING.test(value) || /^[\d\s.,-]+$/.test(value)) return false;
  return !` ${wordsOf(task)} `.includes(` ${words} `);
}

const wordsOf = (text: string): string => (text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []).join(" ");
const isSecret = (name: string): boolean => SECRET.test(name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase().replaceAll("-", "_"));
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns the error that a tool's answer reports, `undefined` where it reports none. In doubt it reports none. */
export function errorIn(result: unknown): string | undefined {
  if (result instanceof Error) return textOf(result);
  if (typeof result === "string") return errorInText(result);
  if (Array.isArray(result)) return errorInText(textOfParts(result));
  if (!isObject(result)) return undefined;
  const { error, isError, is_error, ok, success } = result;
  const code = [result.exitCode, result.exit_code, result.returncode].find((each) => typeof each === "number");
  const others = Object.keys(result).filter((name) => !["error", "message", "code", "status", "statusCode", "detail", "details"].includes(name));
  const isReport = Boolean(error) && others.length === 0;
  if ([isError, is_error, error].includes(true) || [ok, success].includes(false) || (code !== undefined && code !== 0) || isReport) {
    const said = [error, result.stderr, result.message, result.content].find(Boolean);
    return textOf(said ?? result) || "it reported an error";
  }
  return undefined;
}

function errorInText(text: string): string | undefined {
  if (/^\s*\{/.test(text)) {
    try {
      return errorIn(JSON.parse(text));
    } catch {
      return undefined;
    }
  }
  // Forms in which the frameworks and JavaScript report an exception. A text about errors begins with neither.
  return /^\s*(?:[A-Z]\w*(?:Error|Exception)|Error|Error (?:invoking|executing|running) [^\n:]{1,80}):\s*\S|^\s*An error occurred while running the tool\b/.test(text)
    ? text.trim()
    : undefined;
}

/** Returns a value as text: a string itself, the text parts of a message, an error as it is printed, other values as JSON. */
export function textOf(value: unknown): string {
  if (value === undefined || value === null) return "";
  if (typeof value === "string") return value;
  if (value instanceof Error) return `${value.name}: ${value.message}`;
  if (Array.isArray(value) && textOfParts(value)) return textOfParts(value);
  if (isObject(value) && typeof value.message === "string") return value.message;
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

const textOfParts = (parts: unknown[]): string =>
  parts.flatMap((part) => (isObject(part) && typeof part.text === "string" ? [part.text] : [])).join("\n");

/** Strategy that a verdict counts for, and the error that explains a failure. */
export interface Credit {
  strategy: string | null;
  error: string | null;
}

/**
 * Returns the credit or blame of one agent for a run.
 *
 * Without a repair, the last failed call explains a failed run: it is to blame, and no other call of any agent. While such a run is
 * unjudged, nothing is credited.
 */
export function creditOf(steps: readonly ToolStep[], agent: string, outcome: string): Credit {
  const failed = steps.findLast((step, place) => step.ok === false && !steps.slice(place + 1).some((later) => repairs(later, step)));
  if (failed && (outcome === "failure" || outcome === "unverified")) {
    const isToBlame = outcome === "failure" && failed.agent === agent;
    return isToBlame ? { strategy: failed.action, error: failed.error ?? null } : { strategy: null, error: null };
  }
  return { strategy: strategyOf(steps.filter((step) => step.agent === agent)), error: null };
}

/**
 * Returns the strategy of a run: `check, then deploy(way="blue-green")`; `null` if no call succeeded.
 *
 * Failed calls are left out, and calls that were made again, differently, between a failure and its repair.
 */
function strategyOf(steps: readonly ToolStep[]): string | null {
  const replaced = new Set<number>();
  steps.forEach((failed, place) => {
    const repair = steps.findIndex((later, at) => at > place && repairs(later, failed));
    if (failed.ok !== false || repair < 0) return;
    const again = new Map(steps.slice(place + 1, repair).map((step) => [step.tool, step.action]));
    steps.slice(0, place).forEach((step, at) => {
      if ((again.get(step.tool) ?? step.action) !== step.action) replaced.add(at);
    });
  });
  const done = steps.filter((step, place) => step.ok !== false && !replaced.has(place) && isWork(step));
  return [...new Set(done.map((step) => step.action))].join(", then ").slice(0, STRATEGY_CHARS) || null;
}

const isWork = ({ tool, arguments: given }: ToolStep): boolean =>
  !PLANS.has(tool.toLowerCase()) && !(tool.toLowerCase() === "task" && "subagent_type" in given);
const repairs = (later: ToolStep, failed: ToolStep): boolean => later.tool === failed.tool && later.ok === true;
