import type * as T from "../../../alma-memory-js/src/index.js";

/** Memory of a project's own kind. Its `kind` is any name that ALMA has no kind for, which a type cannot say; "" stands for it. */
type OwnMemory = Omit<T.CustomMemory, "kind"> & { kind: "" };
export type Memory = Exclude<T.Memory, { definition: unknown }> | OwnMemory;

/** Maps, as a kind may have the name of something that every object has. */
const KINDS = new Map<string, [one: string, many: string]>([
  ["outcome", ["Outcome", "Outcomes"]],
  ["heuristic", ["Strategy", "Strategies"]],
  ["anti_pattern", ["Warning", "Warnings"]],
  ["domain_knowledge", ["Fact", "Facts"]],
  ["user_preference", ["Preference", "Preferences"]],
  ["conversation", ["Conversation", "Conversations"]],
]);

/** Kinds that ALMA has, in the order in which they are listed. */
export const BUILT_IN = [...KINDS.keys()];

/** Returns counts by kind, those of ALMA's own kinds first and in their order. */
export function inOrder(counts: Record<string, number>): [string, number][] {
  const place = (kind: string) => BUILT_IN.indexOf(kind) + 1 || BUILT_IN.length + 1;
  return Object.entries(counts).toSorted(([a], [b]) => place(a) - place(b) || a.localeCompare(b));
}

export function kindName(kind: string, count = 1): string {
  const [one, many] = KINDS.get(kind) ?? [spaced(kind), spaced(kind)];
  return count === 1 ? one : many;
}

/** Returns a name such as `meeting_note` as words. */
export function spaced(name: string): string {
  const words = name.replaceAll("_", " ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

const NUMBER = new Intl.NumberFormat("en");
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
const MINUTE = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric", hour: "2-digit", minute: "2-digit" });

export const count = (value: number): string => NUMBER.format(value);
export const many = (value: number, one: string, more = `${one}s`): string => `${count(value)} ${value === 1 ? one : more}`;
export const percent = (rate: number): string => `${Math.round(rate * 100)} %`;
export const range = ({ lower, upper }: { lower: number; upper: number }): string => `${Math.round(lower * 100)}–${percent(upper)}`;
export const day = (time: string): string => DAY.format(new Date(time));
export const minute = (time: string): string => MINUTE.format(new Date(time));
export const decimals = (value: number): string => value.toFixed(2);

export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60_000)} min ${Math.round((ms % 60_000) / 1000)} s`;
}

export function bytes(size: number): string {
  const units = ["bytes", "kB", "MB", "GB"];
  let value = size;
  let unit = 0;
  for (; value >= 1000 && unit < units.length - 1; unit++) value /= 1000;
  return `${value < 10 && unit ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Returns the text by which a memory is known in a list. */
export function headline(memory: Memory): string {
  switch (memory.kind) {
    case "outcome":
      return memory.task_description;
    case "heuristic":
      return memory.strategy;
    case "anti_pattern":
      return memory.pattern;
    case "domain_knowledge":
      return memory.fact;
    case "user_preference":
      return memory.preference;
    case "conversation":
      return memory.turns.map((turn) => (turn as unknown[]).slice(0, 2).join(": ")).join("\n");
    default: {
      const { fields, definition } = memory;
      const named = definition.embedding_fields.map((name) => fields[name]);
      return named.filter(Boolean).join("\n") || JSON.stringify(fields);
    }
  }
}

/** Returns the task that a memory is about: that of an outcome, that for which a rule was learned or stated. */
export function taskOf(memory: Memory): string {
  if (memory.kind === "outcome") return memory.task_description;
  const { task } = memory.metadata;
  if (typeof task === "string" && task) return task;
  return memory.kind === "heuristic" ? memory.condition : headline(memory);
}

/** Returns the other texts of a memory, each with its label. */
export function particulars(memory: Memory): [string, string][] {
  const all: [string, string | null | undefined][] = (() => {
    switch (memory.kind) {
      case "outcome":
        return [
          ["Strategy", memory.strategy_used],
          ["Error", memory.error_message],
          ["Feedback", memory.user_feedback],
        ];
      case "heuristic":
        return [["When", memory.condition]];
      case "anti_pattern":
        return [
          ["Why", memory.why_bad],
          ["Instead", memory.better_alternative],
        ];
      case "domain_knowledge":
        return [["Domain", memory.domain]];
      case "user_preference":
        return [["Category", memory.category]];
      case "conversation":
        return [["Session", memory.session_id]];
      default:
        return Object.entries(memory.fields).map(([name, value]) => [
          spaced(name),
          typeof value === "string" ? value : JSON.stringify(value),
        ]);
    }
  })() as [string, string | null | undefined][];
  return all.filter((pair): pair is [string, string] => Boolean(pair[1]));
}

const EDITABLE = new Map<string, [name: string, label: string][]>([
  [
    "heuristic",
    [
      ["condition", "When"],
      ["strategy", "Strategy"],
    ],
  ],
  [
    "anti_pattern",
    [
      ["pattern", "Warning"],
      ["why_bad", "Why"],
      ["better_alternative", "Instead"],
    ],
  ],
  [
    "domain_knowledge",
    [
      ["domain", "Domain"],
      ["fact", "Fact"],
    ],
  ],
  [
    "user_preference",
    [
      ["category", "Category"],
      ["preference", "Preference"],
    ],
  ],
]);

export interface EditableText {
  name: string;
  label: string;
  text: string;
}

/** Returns the texts of a memory that a person may edit: none of what was learned, which its outcomes would only say again. */
export function editableTexts(memory: Memory): EditableText[] {
  if (memory.metadata.learned === true) return [];
  if ("definition" in memory) {
    const texts = Object.entries(memory.fields).filter((pair): pair is [string, string] => typeof pair[1] === "string");
    return texts.map(([name, text]) => ({ name, label: spaced(name), text }));
  }
  const fields = memory as unknown as Record<string, string | null>;
  return (EDITABLE.get(memory.kind) ?? []).map(([name, label]) => ({ name, label, text: fields[name] ?? "" }));
}
