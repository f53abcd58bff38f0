import type { ALMA } from "./client.js";
import { ValidationError } from "./errors.js";
import { memoryTools, type ToolOptions } from "./memory-tools.js";
import { Run, type RunOptions, type ToolStep } from "./runs.js";
import { textOf } from "./tool-calls.js";

export type { FinishedRun, Judgement, RunOptions, RunReport, ToolStep } from "./runs.js";
export type { ToolOptions } from "./memory-tools.js";

/** Runner of the SDK, as far as it is used. */
export interface AgentRunner {
  config: { callModelInputFilter?: Filter | undefined };
  on(event: any, listener: (...given: any[]) => void): unknown;
  run(agent: any, input: any, options?: any): Promise<any>;
}
interface Agent {
  name: string;
}
interface ModelData {
  input: unknown[];
  instructions?: string;
}
type Filter = ((given: any) => ModelData | Promise<ModelData>) & { preserveInputIdentity?: boolean };

/** Options of `almaRun`. `agent` names the first agent, by default as the SDK does; one that takes a hand-off learns under its own name. Functions receive the run's context. */
export interface RunnerOptions<Runner extends AgentRunner> extends RunOptions<any> {
  /** Makes the runner of one run, whose hooks then report this run alone. */
  runner: () => Runner;
}

/**
 * Returns a function in place of `Runner.run`, by which agents learn.
 *
 * The notes stand behind the instructions of each model call, so that no session stores them. Calls of tools are the steps. It rejects as
 * the run does.
 */
export function almaRun<Runner extends AgentRunner>(client: ALMA, options: RunnerOptions<Runner>): Runner["run"] {
  const used = new WeakSet<object>();
  return async (agent: Agent, input: unknown, given: { context?: unknown; callModelInputFilter?: Filter } = {}) => {
    const task = taskOf(input);
    const runner = options.runner();
    if (used.has(runner)) throw new ValidationError("it returns the runner of another run; make one for each", "runner");
    used.add(runner);
    if (!task) return runner.run(agent, input, given);
    const runId = crypto.randomUUID();
    const steps: ToolStep[] = [];
    const begun = new Map<string, Promise<Run>>();
    const runs = new Map<string, Run>();

    function begin({ name }: Agent): Promise<Run> {
      const own = name === agent.name && options.agent ? undefined : name;
      const beginning = begun.get(name) ?? Run.begin(client, options, { task, context: given.context, agent: own, runId, steps });
      begun.set(name, beginning);
      return beginning;
    }

    const filter = given.callModelInputFilter ?? runner.config.callModelInputFilter;
    const withNotes: Filter = async (call: { modelData: ModelData; agent: Agent }) => {
      const data = filter ? await filter(call) : call.modelData;
      const run = await begin(call.agent);
      runs.set(call.agent.name, run);
      await run.settle();
      return { ...data, instructions: [data.instructions, run.notes].filter(Boolean).join("\n\n") };
    };
    withNotes.preserveInputIdentity = filter?.preserveInputIdentity ?? !filter;

    runner.on("agent_tool_end", (_context: unknown, by: Agent, tool: { name: string }, result: unknown, { toolCall }: { toolCall: object }) => {
      const args = (toolCall as { arguments?: unknown }).arguments;
      runs.get(by.name)?.said(textOf(args));
      runs.get(by.name)?.called({ tool: tool.name, arguments: args, result });
    });
    runner.on("agent_end", (_context: unknown, by: Agent, output: unknown) => runs.get(by.name)?.said(textOf(output)));

    const all = (close: (run: Run) => Promise<void>) => Promise.all([...runs.values()].map(close));
    const finish = (result: Finished) => {
      if (result.cancelled) return all((run) => run.abandon("cancelled"));
      if (result.interruptions?.length) return all((run) => run.abandon("it waits for an approval"));
      return all((run) => run.end(textOf(result.finalOutput)));
    };
    const fail = (error: unknown) => all((run) => run.fail(error));
    try {
      const result: Finished = await runner.run(agent, input, { ...given, callModelInputFilter: withNotes });
      if (result.completed) void result.completed.then(() => finish(result), fail);
      else await finish(result);
      return result;
    } catch (error) {
      await fail(error);
      throw error;
    }
  };
}

interface Finished {
  finalOutput?: unknown;
  interruptions?: unknown[];
  /** Promise of a streamed run. */
  completed?: Promise<void>;
  cancelled?: boolean;
}

/** Returns the text of the last message of the user; none for the state of a run that is taken up again. */
function taskOf(input: unknown): string {
  if (typeof input === "string") return input;
  if (!Array.isArray(input)) return "";
  return textOf(input.findLast(({ role }) => role === "user")?.content);
}

/**
 * Returns tools for an `Agent`, by which a model asks the memory itself and saves what it is told: `recall_memory`, `check_action`,
 * `save_fact`, and `save_preference` where there is a user.
 */
export function almaTools(client: ALMA, options: ToolOptions) {
  return memoryTools(client, options).map(({ name, description, parameters, call }) => ({
    type: "function" as const,
    name,
    description,
    parameters,
    strict: true as const,
    invoke: async (_context: unknown, input: string) => call(input),
    needsApproval: async () => false,
    isEnabled: async () => true,
  }));
}
