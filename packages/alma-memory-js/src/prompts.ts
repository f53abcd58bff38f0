import type { ReportedCall } from "./runs.js";

/** Part of a message, as the Vercel AI SDK hands it to models. */
export interface PromptPart {
  type: string;
  text?: string;
  toolCallId?: string;
  toolName?: string;
  input?: unknown;
  output?: ToolOutput;
}
interface ToolOutput {
  type: string;
  value?: unknown;
  reason?: string;
}
export interface PromptMessage {
  role: string;
  content: string | readonly PromptPart[];
}
export type Prompt = readonly PromptMessage[];

/** Returns the last message of the user. */
export const lastAsked = (prompt: Prompt): PromptMessage | undefined => prompt.findLast(({ role }) => role === "user");

/** Returns the prompt up to the model's last message. */
export const beforeAnswer = (prompt: Prompt): Prompt => prompt.slice(0, Math.max(0, prompt.findLastIndex(({ role }) => role === "assistant")));

/** Returns the text of a message. */
export function textIn(message: PromptMessage | undefined): string {
  if (typeof message?.content === "string") return message.content;
  return (message?.content ?? []).flatMap(({ type, text }) => (type === "text" && text ? [text] : [])).join("\n");
}

/** Returns the prompt with the notes as a further part of the last user's message. */
export function withNotes<Given extends Prompt>(prompt: Given, notes: string): Given {
  const asked = lastAsked(prompt);
  if (!notes || !asked || typeof asked.content === "string") return prompt;
  const noted = { ...asked, content: [...asked.content, { type: "text", text: `\n\n${notes}` }] };
  return prompt.map((each) => (each === asked ? noted : each)) as readonly PromptMessage[] as Given;
}

/** Returns whether the user asks something behind the model's last message: a question of its own, whatever tools answered before it. */
export const isAsked = (prompt: Prompt): boolean => lastAsked(prompt.slice(beforeAnswer(prompt).length)) !== undefined;

/** Call of a tool whose answer the model has not seen before, with its id. */
export interface AnsweredCall extends ReportedCall {
  id: string;
}

/** Returns the answered calls behind the model's last message. */
export function newlyAnswered(prompt: Prompt): AnsweredCall[] {
  const said = prompt.findLastIndex(({ role }) => role === "assistant");
  const asked = partsOf(prompt[said]).filter(({ type }) => type === "tool-call");
  const answers = prompt.slice(said + 1).flatMap(partsOf);
  return answers.flatMap(({ type, toolCallId: id = "", toolName = "", output }) => {
    if (type !== "tool-result" || !output) return [];
    const { input } = asked.find(({ toolCallId }) => toolCallId === id) ?? {};
    return [{ id, ...readOutput(toolName, input, output) }];
  });
}

/** Returns a call with its output, which says whether it failed or was refused. */
export function readOutput(tool: string, input: unknown, output: ToolOutput): ReportedCall {
  const isRefused = output.type === "execution-denied";
  return {
    tool,
    arguments: input,
    result: isRefused ? output.reason : output.value,
    isFailed: output.type === "error-text" || output.type === "error-json",
    isRefused,
  };
}

const partsOf = (message: PromptMessage | undefined): readonly PromptPart[] =>
  typeof message?.content === "string" ? [] : (message?.content ?? []);
