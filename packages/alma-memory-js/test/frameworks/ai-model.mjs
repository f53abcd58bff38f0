// Scripted models of the Vercel AI SDK.
const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } };
const { MockLanguageModelV3, simulateReadableStream } = await import("ai6/test");
const { MockLanguageModelV4 } = Number(process.versions.node.split(".")[0]) < 22 ? {} : await import("ai/test");

const textOf = ({ content }) => (typeof content === "string" ? content : content.map((part) => part.text ?? JSON.stringify(part)).join("\n"));

/** Returns a model of the SDK that takes these turns. `sdk` is `ai6` for version 6 and `ai` for version 7. */
export function modelOf(sdk, turn) {
  const take = async ({ prompt }) => {
    const asked = prompt.findLastIndex(({ role }) => role === "user");
    const results = prompt.slice(asked).filter(({ role }) => role === "tool").flatMap(({ content }) => content).length;
    const said = await turn({ text: prompt.map(textOf).join("\n"), results });
    if (typeof said === "string") return { content: [{ type: "text", text: said }], reason: "stop" };
    const calls = [said].flat().map(({ id, way, name = "deploy", input = { way } }) => ({ type: "tool-call", toolCallId: id, toolName: name, input: JSON.stringify(input) }));
    return { content: calls, reason: "tool-calls" };
  };
  const Mock = sdk === "ai6" ? MockLanguageModelV3 : MockLanguageModelV4;
  return new Mock({
    doGenerate: async (params) => {
      const { content, reason } = await take(params);
      return { content, finishReason: { unified: reason, raw: reason }, usage, warnings: [] };
    },
    doStream: async (params) => {
      const { content, reason } = await take(params);
      const parts = content.flatMap((part) => {
        if (part.type !== "text") return [part];
        const deltas = part.text.split(/(?= )/).map((delta) => ({ type: "text-delta", id: "1", delta }));
        return [{ type: "text-start", id: "1" }, ...deltas, { type: "text-end", id: "1" }];
      });
      const chunks = [{ type: "stream-start", warnings: [] }, ...parts, { type: "finish", finishReason: { unified: reason, raw: reason }, usage }];
      return { stream: simulateReadableStream({ chunks, initialDelayInMs: null, chunkDelayInMs: null }) };
    },
  });
}
