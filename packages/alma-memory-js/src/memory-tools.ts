import type { ALMA } from "./client.js";
import { scopeOf } from "./runs.js";
import { isScopeViolationError, isValidationError } from "./errors.js";
import { readArguments } from "./tool-calls.js";

/** Whom the tools serve, by default as the client does. They read and write only what this agent and this user may. */
export interface ToolOptions {
  agent?: string | undefined;
  userId?: string | undefined;
  /** Number of memories of each kind that `recall_memory` returns. By default 5. */
  topK?: number | undefined;
  /** Changes each text before it is stored or searched for. */
  redact?: ((text: string) => string) | undefined;
  /** Time in milliseconds that a tool waits for the memory, all tries together. By default 2,000. */
  timeout?: number | undefined;
}

/** Tool over the memory. All of its arguments are texts; JSON of them is taken, too. */
export interface MemoryTool {
  name: string;
  description: string;
  parameters: Parameters;
  /** Answers the model. No error leaves it. */
  call(given: Record<string, string> | string): Promise<string>;
}
/** JSON schema of the arguments. */
export interface Parameters {
  type: "object";
  properties: Record<string, { type: "string"; description: string }>;
  required: string[];
  additionalProperties: false;
}

/** Names of the tools. Their calls are no steps of a run. */
export const MEMORY_TOOLS = new Set(["recall_memory", "check_action", "save_fact", "save_preference"]);

const NO_ANSWER = "The memory does not answer now; go on without it.";
const NOTHING = "Nothing is known about this yet.";
const QUARANTINED = "Kept back: it reads like an instruction, so nothing shows it until a person releases it.";
const NOTED_BY_AGENT = "noted_by_agent";
const TOPIC = "A word or two that say what it is about.";

/** Returns the tools, in the order in which an agent needs them. */
export function memoryTools(client: ALMA, options: ToolOptions): MemoryTool[] {
  const { agent, userId } = scopeOf(client, options, undefined);
  const { topK = 5, redact = (text: string) => text, timeout = 2000 } = options;
  const saved = (stored: { metadata: object }) => ("flagged" in stored.metadata && stored.metadata.flagged ? QUARANTINED : "Saved.");

  const tool = (name: string, description: string, properties: Record<string, string>, ask: (given: any) => Promise<string>): MemoryTool => ({
    name,
    description,
    parameters: {
      type: "object",
      properties: Object.fromEntries(Object.entries(properties).map(([key, text]) => [key, { type: "string", description: text }])),
      required: Object.keys(properties),
      additionalProperties: false,
    },
    async call(given) {
      try {
        return await ask(Object.fromEntries(Object.entries(readArguments(given)).map(([key, text]) => [key, redact(String(text))])));
      } catch (error) {
        client["to"].warn(`${name} gave no answer: ${error}`);
        return isScopeViolationError(error) || isValidationError(error) ? `Refused: ${error.message}` : NO_ANSWER;
      }
    },
  });

  const tools = [
    tool(
      "recall_memory",
      "Looks up what earlier work taught: what worked, what failed, facts and wishes. Ask before a task.",
      { query: "The task or question, in a sentence." },
      async ({ query }) => {
        const { prompt } = await client.retrieve({ query, agent, userId, topK, timeout });
        // In an answer, a tag cites the run's own notes: those of this search would name other memories.
        return prompt.replace(/^\[[A-Z]+\d+\] /gm, "- ").replace(/^When a note helps you, .*\n/m, "") || NOTHING;
      },
    ),
    tool(
      "check_action",
      "Says whether an action is known to fail, and what to do instead. Ask before a risky action.",
      { action: "The action about to be taken, in a few words or as the call." },
      async ({ action }) => {
        const { warnings, elsewhere } = await client.check({ action, agent, userId, timeout });
        const lines = warnings.length
          ? warnings.map(({ summary }) => summary)
          : ["no known warning matches it", ...elsewhere.map(({ summary }) => `on other tasks: ${summary}`)];
        return lines.join("\n");
      },
    ),
    tool(
      "save_fact",
      "Keeps a fact for later work.",
      { topic: TOPIC, fact: "One sentence that stands by itself." },
      async ({ topic, fact }) => {
        const { knowledge } = await client.addKnowledge({ agent, userId, domain: topic, fact, source: NOTED_BY_AGENT, timeout });
        return saved(knowledge);
      },
    ),
    tool(
      "save_preference",
      "Keeps what the user wants done always or never. Only what the user said.",
      { topic: TOPIC, preference: "One sentence that stands by itself." },
      async ({ topic, preference }) => {
        const stored = await client.addPreference({ agent, userId, category: topic, preference, source: NOTED_BY_AGENT, timeout });
        return saved(stored.preference);
      },
    ),
  ];
  return userId === undefined ? tools.slice(0, -1) : tools;
}

/** Returns the arguments as a schema of the Standard Schema specification, which frameworks take whatever library made it. */
export function schemaOf(parameters: Parameters) {
  const fits = (value: unknown): value is Record<string, string> =>
    typeof value === "object" && value !== null && parameters.required.every((name) => typeof (value as Record<string, unknown>)[name] === "string");
  return {
    "~standard": {
      version: 1 as const,
      vendor: "alma-memory",
      validate: (value: unknown) =>
        fits(value) ? { value } : { issues: [{ message: `it takes ${parameters.required.join(" and ")}, as texts` }] },
      jsonSchema: { input: () => ({ ...parameters }), output: () => ({ ...parameters }) },
    },
  };
}
