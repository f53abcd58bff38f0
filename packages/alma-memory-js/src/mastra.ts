import type { ALMA } from "./client.js";
import { isAsked, lastAsked, newlyAnswered, type PromptMessage, type PromptPart, readOutput, textIn, withNotes } from "./prompts.js";
import { Run, type RunOptions } from "./runs.js";

export type { FinishedRun, Judgement, RunOptions, RunReport, ToolStep } from "./runs.js";

/** Request context of Mastra, as far as it is read. Functions for `agent`, `userId` and `taskType` receive it. */
export interface RequestContext {
  get(name: string): any;
}

interface Request {
  /** Object that Mastra keeps for this processor through one request. */
  state: object;
  requestContext?: RequestContext | undefined;
  abortSignal?: AbortSignal | undefined;
}
interface Result {
  text: string;
  finishReason: string;
  steps: readonly object[];
}

/**
 * Returns a processor by which an agent learns. It must be among the agent's `inputProcessors` and its `outputProcessors`.
 *
 * Each model call sees the notes beside the user's message; the thread does not store them. Answers of tools are the steps, and the
 * agent's answer ends the run.
 */
export function almaProcessor(client: ALMA, options: RunOptions<RequestContext | undefined>) {
  const runs = new WeakMap<object, { run: Run; seen: Set<string> }>();

  async function runFor({ state, requestContext, abortSignal }: Request, prompt: readonly PromptMessage[]) {
    const known = runs.get(state);
    const task = textIn(lastAsked(prompt));
    if (known || !task) return known;
    const run = await Run.begin(client, options, { task, context: requestContext });
    run.follow(abortSignal);
    const begun = { run, seen: new Set(isAsked(prompt) ? newlyAnswered(prompt).map(({ id }) => id) : []) };
    runs.set(state, begun);
    return begun;
  }

  return {
    id: "alma-memory" as const,

    async processLLMRequest<Prompt extends readonly any[]>(request: Request & { prompt: Prompt }): Promise<{ prompt: Prompt } | undefined> {
      const begun = await runFor(request, request.prompt);
      if (!begun) return undefined;
      for (const { id, ...call } of newlyAnswered(request.prompt)) {
        if (!begun.seen.has(id)) begun.run.called(call);
        begun.seen.add(id);
      }
      await begun.run.settle();
      return { prompt: withNotes(request.prompt, begun.run.notes) };
    },

    async processOutputResult<Messages>(request: Request & { result: Result; messages: Messages }): Promise<Messages> {
      const { result, messages } = request;
      const begun = runs.get(request.state);
      if (!begun) return messages;
      for (const { toolCallId = "", toolName = "", input, output } of answersIn(result)) {
        if (output && !begun.seen.has(toolCallId)) begun.run.called(readOutput(toolName, input, output));
      }
      begun.run.said(result.text);
      await (result.finishReason === "error" ? begun.run.fail("the model gave no answer") : begun.run.end(result.text));
      return messages;
    },
  };
}

/** Returns the answers of tools in a result, also those that no model call was shown. */
const answersIn = ({ steps }: Result): PromptPart[] =>
  steps.flatMap((step) => (step as { content?: PromptPart[] }).content ?? []).filter(({ type }) => type === "tool-result");
