// Mastra needs Node 22.
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Agent } from "@mastra/core/agent";
import { RequestContext } from "@mastra/core/request-context";
import { createTool } from "@mastra/core/tools";
import { almaProcessor } from "alma-memory/mastra";
import { z } from "zod";
import { modelOf } from "./ai-model.mjs";
import { client, contract, deploy, FENCE, recordOf, reporting, scripted } from "./contract.mjs";

const tools = {
  deploy: createTool({ id: "deploy", description: "Deploys", inputSchema: z.object({ way: z.string() }), execute: (input) => deploy(input) }),
};

function agentOf({ client, options, turn, ...more }) {
  const processor = almaProcessor(client, options);
  const model = modelOf("ai6", turn);
  return new Agent({ id: "agent", name: "agent", instructions: "Be brief", model, tools, inputProcessors: [processor], outputProcessors: [processor], maxRetries: 0, ...more });
}

contract("generate of mastra", async ({ task, ...scene }) => (await agentOf(scene).generate(task)).text);

contract("stream of mastra", async ({ task, ...scene }) => {
  const result = await agentOf(scene).stream(task);
  for await (const _ of result.textStream);
  if (result.error) throw result.error;
  return result.text;
});

describe("almaProcessor of mastra", () => {
  it("one processor serves an agent whose runs go on at the same time", async () => {
    const { options, reports } = reporting({ userId: (context) => context?.get("userId") });
    const agent = agentOf({ client, options, turn: scripted(["rolling", "blue-green"]).turn });
    await Promise.all(
      ["ann", "bob", "cleo"].map((userId) => {
        const requestContext = new RequestContext();
        requestContext.set("userId", userId);
        return agent.generate(`Deploy the page of ${userId}`, { requestContext });
      }),
    );
    const records = await Promise.all(reports.map((report) => recordOf(report)));
    assert.deepEqual(
      records.map(({ user_id, task, steps }) => [user_id, task, steps.length]).sort(),
      ["ann", "bob", "cleo"].map((userId) => [userId, `Deploy the page of ${userId}`, 2]),
    );
  });

  it("a result that no model call was shown is a step, too", async () => {
    const { options, next } = reporting();
    await agentOf({ client, options, turn: scripted(["blue-green", "rolling", "canary"]).turn }).generate("Deploy the feed", { maxSteps: 2 });
    const { steps, outcome } = await recordOf(await next());
    assert.deepEqual([outcome, steps.map(({ ok }) => ok)], ["unverified", [true, false]]);
  });

  it("what a tool answered before the question is no step", async () => {
    const { options, next } = reporting();
    const history = [
      { role: "user", content: "Deploy the news" },
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "old", toolName: "deploy", input: { way: "canary" } }] },
      { role: "tool", content: [{ type: "tool-result", toolCallId: "old", toolName: "deploy", output: { type: "text", value: "live by canary" } }] },
      { role: "user", content: "Deploy the games" },
    ];
    await agentOf({ client, options, turn: scripted(["blue-green"]).turn }).generate(history);
    const { task, steps } = await recordOf(await next());
    assert.deepEqual([task, steps.map(({ action }) => action)], ["Deploy the games", ['deploy(way="blue-green")']]);
  });

  it("a caller that aborts abandons the run", async () => {
    const { options, next } = reporting();
    const stop = new AbortController();
    const turn = ({ results }) => {
      if (!results) return { id: "call-0", way: "blue-green" };
      stop.abort();
      return new Promise((_, reject) => reject(stop.signal.reason));
    };
    await agentOf({ client, options, turn }).generate("Deploy the map", { abortSignal: stop.signal }).catch(() => undefined);
    assert.equal((await recordOf(await next())).status, "abandoned");
  });

  it("what the caller and the thread get holds no notes", async () => {
    const { options } = reporting({ agent: "nora" });
    await client.addKnowledge({ agent: "nora", domain: "greeting", fact: "The greeting of the house is Moin" });
    const { turn, prompts } = scripted([], "Moin");
    const result = await agentOf({ client, options, turn }).generate("What is the greeting of the house?");
    assert.deepEqual(prompts.map((text) => text.match(FENCE)?.length), [1]);
    assert.equal(JSON.stringify(result.messages).match(FENCE), null);
  });
});
