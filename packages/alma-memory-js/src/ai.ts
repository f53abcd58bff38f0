import type { ALMA } from "./client.js";
import { memoryTools, schemaOf, type ToolOptions } from "./memory-tools.js";
import { beforeAnswer, isAsked, lastAsked, newlyAnswered, type Prompt, textIn, withNotes } from "./prompts.js";
import { Run, type RunOptions, type Scope, scopeOf } from "./runs.js";
import { readArguments } from "./tool-calls.js";

export type { FinishedRun, Judgement, RunOptions, RunReport, ToolStep } from "./runs.js";
export type { ToolOptions } from "./memory-tools.js";

/** Parameters of a model call, as far as they are read. */
export interface CallParams {
  prompt: Prompt;
  abortSignal?: AbortSignal | undefined;
  providerOptions?: Record<string, any> | undefined;
}

/** Options of `almaMiddleware`. `agent`, `userId` and `taskType` may be functions of the parameters of the model call. */
export interface MiddlewareOptions<Version extends string = "v3"> extends RunOptions<CallParams> {
  /** Version of the SDK's models: `v3` for `ai` 6, `v4` for `ai` 7. By default `v3`. */
  specificationVersion?: Version | undefined;
}

interface Part {
  type: string;
  id?: string;
  text?: string;
  delta?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  result?: unknown;
  isError?: boolean | undefined;
  providerExecuted?: boolean | undefined;
  error?: unknown;
}

/** Number of runs that wait for answers of tools; the one that waited longest is closed. */
const MOST_WAITING = 1000;

/**
 * Returns a middleware for `wrapLanguageModel`, by which a model learns.
 *
 * A question of the user begins a run: the notes stand beside it in each of the run's model calls, and nowhere else. Answers of tools are
 * the steps, and an answer without a call of a tool ends the run. The result's `providerMetadata.alma.episodeId` names the episode.
 */
export function almaMiddleware<Version extends string = "v3">(client: ALMA, options: MiddlewareOptions<Version>) {
  const waiting = new Map<string, Run[]>();
  const runOf = new WeakMap<object, Run>();
  const questionOf = new WeakMap<Run, string>();

  /** Returns the run of a model call: begun by it, or waiting for the answers in its prompt. The SDK repeats a failed call with the same prompt. */
  async function runFor(params: CallParams): Promise<Run | undefined> {
    const { prompt } = params;
    const known = runOf.get(prompt);
    if (known) return known;
    const waited = await takeUp(params);
    const task = textIn(lastAsked(prompt));
    if (!waited && !task) return undefined;
    const run = waited ?? (await Run.begin(client, options, { task, context: params }));
    if (!waited) run.follow(params.abortSignal);
    if (!waited && !isAsked(prompt)) newlyAnswered(prompt).forEach((call) => run.called(call)); // of a run that another process began
    await run.settle();
    runOf.set(prompt, run);
    questionOf.set(run, task);
    return run;
  }

  /** Returns the run that waits for answers of tools in this prompt, which are its steps. It is over if the user asks something new. */
  async function takeUp(params: CallParams): Promise<Run | undefined> {
    const { prompt } = params;
    const answered = newlyAnswered(prompt);
    const question = textIn(lastAsked(beforeAnswer(prompt)));
    let scope: Scope;
    try {
      scope = scopeOf(client, options, params);
    } catch {
      return undefined; // `Run.begin` logs it
    }
    const run = answered.flatMap((call) => waiting.get(keyOf(scope, question, call.id, call.arguments)) ?? [])[0];
    if (!run) return undefined;
    for (const call of answered) run.called(call);
    if (isAsked(prompt)) return void (await forget(run));
    leave(run);
    return run;
  }

  /** Ends the run by what the model said, or keeps it until the tools that it called have answered. */
  async function close(run: Run, said: readonly Part[]): Promise<void> {
    const text = said.flatMap((part) => (part.type === "text" ? (part.text ?? "") : [])).join("");
    run.said(text);
    const calls = said.filter(({ type }) => type === "tool-call");
    for (const { type, toolCallId, toolName = "", result, isError } of said) {
      const { input } = calls.find((each) => each.toolCallId === toolCallId) ?? {};
      if (type === "tool-result") run.called({ tool: toolName, arguments: input, result, isFailed: isError });
    }
    const open = calls.filter(({ providerExecuted }) => !providerExecuted);
    if (!open.length) return run.end(text);
    for (const { toolCallId = "", input } of open) {
      const key = keyOf(run, questionOf.get(run) ?? "", toolCallId, input);
      waiting.set(key, [...(waiting.get(key) ?? []), run]);
    }
    const [oldest] = waiting.values();
    if (waiting.size > MOST_WAITING && oldest?.[0]) await forget(oldest[0]);
    await run.settle();
  }

  function leave(run: Run): void {
    for (const [key, runs] of waiting) {
      const others = runs.filter((each) => each !== run);
      if (others.length) waiting.set(key, others);
      else waiting.delete(key);
    }
  }

  async function forget(run: Run): Promise<void> {
    leave(run);
    await run.abandon("no model was shown the last answers of its tools");
  }

  return {
    specificationVersion: (options.specificationVersion ?? "v3") as Version,

    async transformParams<Params extends CallParams>({ params }: { params: Params }): Promise<Params> {
      const run = await runFor(params);
      if (!run) return params;
      const noted = { ...params, prompt: withNotes(params.prompt, run.notes) };
      runOf.set(noted, run);
      return noted;
    },

    async wrapGenerate<Result extends { content: readonly object[] }>(call: {
      doGenerate: () => PromiseLike<Result>;
      params: CallParams;
    }): Promise<Result> {
      const run = runOf.get(call.params);
      if (!run) return call.doGenerate();
      try {
        const result = await call.doGenerate();
        await close(run, result.content as readonly Part[]);
        return labelled(result, run);
      } catch (error) {
        await failed(run, error);
        throw error;
      }
    },

    async wrapStream<Result extends { stream: ReadableStream<any> }>(call: {
      doStream: () => PromiseLike<Result>;
      params: CallParams;
    }): Promise<Result> {
      const run = runOf.get(call.params);
      if (!run) return call.doStream();
      try {
        const result = await call.doStream();
        return { ...result, stream: followed(result.stream, run, (said) => close(run, said)) };
      } catch (error) {
        await failed(run, error);
        throw error;
      }
    },

    /** Ends the runs that wait for answers of tools which no model call will show, as where the SDK stopped at a number of steps. */
    async close(): Promise<void> {
      await Promise.all([...new Set([...waiting.values()].flat())].map(forget));
    },
  };
}

/** Returns the name of a call that a run waits for: some providers give two calls of two runs the same id. */
const keyOf = ({ agent, userId }: Scope, question: string, id: string, input: unknown): string =>
  JSON.stringify([agent, userId, question, id, readArguments(input)]);

/** Keeps a run whose model call the SDK repeats; any other error ends the run. */
async function failed(run: Run, error: unknown): Promise<void> {
  if ((error as { isRetryable?: boolean } | undefined)?.isRetryable !== true) await run.fail(error);
}

/** Returns a stream with the same parts. Its end closes the run, an error ends it, and a reader that cancels abandons it. */
function followed(stream: ReadableStream<Part>, run: Run, close: (said: Part[]) => Promise<void>): ReadableStream<Part> {
  const reader = stream.getReader();
  const said: Part[] = [];
  let problem: Part | undefined;
  return new ReadableStream<Part>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (done) {
          await (problem ? run.fail(problem.error) : close(said));
          return controller.close();
        }
        if (value.type === "text-delta") said.push({ type: "text", text: value.delta ?? "" });
        else if (value.type === "tool-call" || value.type === "tool-result") said.push(value);
        else if (value.type === "error") problem = value;
        controller.enqueue(value.type === "finish" ? labelled(value, run) : value);
      } catch (error) {
        await run.fail(error);
        controller.error(error);
      }
    },
    async cancel(reason) {
      await Promise.all([run.abandon("cancelled"), reader.cancel(reason)]);
    },
  });
}

/** Returns a result, or the last part of a stream, that names the episode in its metadata. */
function labelled<Result extends object>(result: Result, { episodeId }: Run): Result {
  const { providerMetadata } = result as { providerMetadata?: object };
  return episodeId ? { ...result, providerMetadata: { ...providerMetadata, alma: { episodeId } } } : result;
}

/**
 * Returns tools for `generateText` and `streamText`, by which a model asks the memory itself and saves what it is told: `recall_memory`,
 * `check_action`, `save_fact`, and `save_preference` where there is a user.
 */
export function almaTools(client: ALMA, options: ToolOptions) {
  return Object.fromEntries(
    memoryTools(client, options).map(({ name, description, parameters, call }) => [
      name,
      { description, inputSchema: schemaOf(parameters), execute: call },
    ]),
  );
}
