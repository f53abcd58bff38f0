import type { ALMA } from "./client.js";
import { Run, type RunOptions } from "./runs.js";
import { textOf } from "./tool-calls.js";

export type { FinishedRun, Judgement, RunOptions, RunReport, ToolStep } from "./runs.js";

/** What LangChain hands to each hook, as far as it is read. Functions for `agent`, `userId` and `taskType` receive it. */
export interface AgentRuntime {
  context?: unknown;
  configurable?: Record<string, unknown> | undefined;
  signal?: AbortSignal | undefined;
  writer?: object | undefined;
}

interface Message {
  id?: string | undefined;
  type: string;
  text: string;
  content: any;
  name?: string | undefined;
  status?: string | undefined;
  tool_calls?: { args: unknown }[] | undefined;
  additional_kwargs?: object;
  response_metadata?: object;
}
interface State {
  messages: Message[];
}

/** Number of threads whose last run is kept for an interrupt. */
const MOST_THREADS = 1000;
/** Longest id of a thread that the memory takes. */
const ID_CHARS = 200;

/**
 * Returns a middleware for `createAgent`, by which an agent learns.
 *
 * Each model call sees the notes beside the message that the run began with; the thread does not store them. A call of a tool is a step,
 * written when it has answered. The last message's `response_metadata.alma.episodeId` names the episode.
 */
export function almaMiddleware(client: ALMA, options: RunOptions<AgentRuntime>) {
  const runs = new WeakMap<object, Map<string, Run>>();
  const threads = new Map<string, Run>();
  const askedIn = new WeakMap<Run, string | undefined>();

  /** Keeps the run of an invocation. Its `writer` is a function of its own for each invocation, which graphs inside it share. */
  function keep(runtime: AgentRuntime, run: Run): void {
    const { writer } = runtime;
    if (writer) runs.set(writer, (runs.get(writer) ?? new Map<string, Run>()).set(graphOf(runtime), run));
  }

  /** Returns the live run, also of an invocation that goes on after an interrupt. */
  function find(runtime: AgentRuntime): Run | undefined {
    const known = runtime.writer && runs.get(runtime.writer)?.get(graphOf(runtime));
    if (known) return known;
    const interrupted = threads.get(threadOf(runtime) ?? "");
    if (interrupted) keep(runtime, interrupted);
    return interrupted;
  }

  /** Ends the run if this error ends the invocation: LangGraph then aborts the node that raised it, and calls no other hook. */
  function watch(run: Run | undefined, { signal }: AgentRuntime, error: unknown): void {
    if (!isLeaving(error)) signal?.addEventListener("abort", () => void run?.fail(error), { once: true });
  }

  return {
    name: "alma-memory",

    async beforeAgent(state: State, runtime: AgentRuntime): Promise<void> {
      const thread = threadOf(runtime) ?? "";
      const former = threads.get(thread);
      threads.delete(thread);
      await former?.abandon("the thread went on with another question");
      const asked = state.messages.findLast(({ type }) => type === "human");
      if (!asked?.text) return;
      const threadId = runtime.configurable?.thread_id;
      const run = await Run.begin(client, options, {
        task: asked.text,
        context: runtime,
        threadId: typeof threadId === "string" && threadId.length <= ID_CHARS ? threadId : undefined,
      });
      askedIn.set(run, asked.id);
      keep(runtime, run);
      if (thread) threads.set(thread, run);
      const [oldest] = threads.keys();
      if (threads.size > MOST_THREADS && oldest) threads.delete(oldest);
    },

    async wrapModelCall<Request extends { messages: any[]; runtime: AgentRuntime }, Answer>(
      request: Request,
      handler: (request: Request) => Answer | Promise<Answer>,
    ): Promise<Answer> {
      const run = find(request.runtime);
      if (!run) return handler(request);
      try {
        const answer = await handler({ ...request, messages: withNotes(request.messages, run.notes, askedIn.get(run)) });
        const said = answer as Partial<Message>;
        const calls = said.tool_calls ?? [];
        run.said([said.text, ...calls.map(({ args }) => textOf(args))].join("\n"));
        if (said.type === "ai" && !calls.length && run.episodeId) {
          said.response_metadata = { ...said.response_metadata, alma: { episodeId: run.episodeId } };
        }
        return answer;
      } catch (error) {
        watch(run, request.runtime, error);
        throw error;
      }
    },

    async wrapToolCall<Request extends { toolCall: { name: string; args: unknown }; runtime: AgentRuntime }, Answer>(
      request: Request,
      handler: (request: Request) => Answer | Promise<Answer>,
    ): Promise<Answer> {
      const run = find(request.runtime);
      const call = { tool: request.toolCall.name, arguments: request.toolCall.args };
      try {
        const answer = await handler(request);
        const { type, content, status } = answer as Partial<Message>;
        run?.called({ ...call, result: type === "tool" ? content : undefined, isFailed: status === "error" });
        return answer;
      } catch (error) {
        if (!isLeaving(error)) run?.called({ ...call, result: error, isFailed: true });
        watch(run, request.runtime, error);
        throw error;
      } finally {
        await run?.settle();
      }
    },

    async afterAgent(state: State, runtime: AgentRuntime): Promise<void> {
      const run = find(runtime);
      await run?.end(state.messages.at(-1)?.text);
      const thread = threadOf(runtime);
      if (thread && threads.get(thread) === run) threads.delete(thread);
    },
  };
}

/** Returns the place of the graph in the graphs around it, empty for the outermost. */
const graphOf = ({ configurable }: AgentRuntime): string => String(configurable?.checkpoint_ns ?? "").split("|").slice(0, -1).join("|");

/** Returns the name of the thread of a graph, `undefined` if it has none: then nothing of it is resumed. */
function threadOf(runtime: AgentRuntime): string | undefined {
  const thread = runtime.configurable?.thread_id;
  return thread === undefined ? undefined : JSON.stringify([thread, graphOf(runtime)]);
}

/** Returns whether an exception says nothing about the work: an interrupt, a jump of the graph, a cancellation. */
const isLeaving = (error: unknown): boolean =>
  (error as { is_bubble_up?: boolean }).is_bubble_up === true || (error as Error).name === "AbortError";

/** Returns the messages with the notes behind the one that the run began with, which is found by its id. */
function withNotes(messages: Message[], notes: string, asked: string | undefined): Message[] {
  const humans = messages.filter(({ type }) => type === "human");
  const place = messages.indexOf(humans.find(({ id }) => id === asked) ?? humans.at(-1) as Message);
  const message = messages[place];
  if (!notes || !message) return messages;
  const { content, id, name, additional_kwargs, response_metadata } = message;
  const noted = typeof content === "string" ? `${content}\n\n${notes}` : [...content, { type: "text", text: `\n\n${notes}` }];
  const Kind = message.constructor as new (fields: object) => Message;
  return messages.with(place, new Kind({ content: noted, id, name, additional_kwargs, response_metadata }));
}
