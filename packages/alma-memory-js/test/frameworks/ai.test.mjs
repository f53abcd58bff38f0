// The Vercel AI SDK: version 6 on Node 20, version 7 on Node 22. `SDK` names it.
import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { describe, it } from "node:test";
import { ALMA } from "alma-memory";
import { almaMiddleware, almaTools } from "alma-memory/ai";
import { z } from "zod";
import { modelOf } from "./ai-model.mjs";
import { client, contract, deploy, FENCE, recordOf, reporting, scripted, server } from "./contract.mjs";

const SDK = Number(process.versions.node.split(".")[0]) < 22 ? "ai6" : "ai";
const { generateText, streamText, stepCountIs, isStepCount, tool, wrapLanguageModel, APICallError } = await import(SDK);
const specificationVersion = SDK === "ai" ? "v4" : "v3";
const stopWhen = (isStepCount ?? stepCountIs)(6);

const tools = { deploy: tool({ description: "Deploys", inputSchema: z.object({ way: z.string() }), execute: deploy }) };
const wrapped = ({ client, options, turn }) =>
  wrapLanguageModel({ model: modelOf(SDK, turn), middleware: almaMiddleware(client, { specificationVersion, ...options }) });

contract(`generateText of ${SDK}`, async ({ task, ...scene }) => {
  const { text } = await generateText({ model: wrapped(scene), tools, stopWhen, prompt: task, maxRetries: 0 });
  return text;
});

contract(`streamText of ${SDK}`, async ({ task, ...scene }) => {
  let problem;
  const onError = ({ error }) => {
    problem = error;
  };
  const { textStream, text } = streamText({ model: wrapped(scene), tools, stopWhen, prompt: task, maxRetries: 0, onError });
  for await (const _ of textStream);
  if (problem) throw problem;
  return text;
});

describe(`almaMiddleware of ${SDK}`, () => {
  it("names the episode in the metadata of the result, by which it is judged later", async () => {
    const { turn } = scripted(["blue-green"]);
    const scene = { client, options: reporting().options, turn };
    const { providerMetadata } = await generateText({ model: wrapped(scene), tools, stopWhen, prompt: "Deploy the wiki" });
    const streamed = streamText({ model: wrapped(scene), tools, stopWhen, prompt: "Deploy the wiki" });
    for await (const _ of streamed.textStream);
    const metadata = await (streamed.finalStep ? (await streamed.finalStep).providerMetadata : streamed.providerMetadata);
    for (const { episodeId } of [providerMetadata.alma, metadata.alma]) {
      await client.settle({ episodeId, outcome: "failure", reason: "rolled back in the night" });
      assert.equal((await recordOf({ episodeId, agent: "helena" })).outcome, "failure");
    }
  });

  it("a reader that cancels its stream abandons the run", async () => {
    const { options, next } = reporting();
    const { turn } = scripted([], "one two three");
    const model = wrapped({ client, options, turn });
    const params = { prompt: [{ role: "user", content: [{ type: "text", text: "Deploy the map" }] }] };
    const { stream } = await model.doStream(params);
    const reader = stream.getReader();
    while ((await reader.read()).value.type !== "text-delta");
    await reader.cancel();
    const report = await next();
    assert.equal(report.outcome, undefined);
    assert.equal((await recordOf(report)).status, "abandoned");
  });

  it("a caller that aborts abandons the run", async () => {
    const { options, next } = reporting();
    const stop = new AbortController();
    const model = wrapped({
      client,
      options,
      turn: ({ results }) => {
        if (!results) return { id: "call-0", way: "blue-green" };
        stop.abort();
        return new Promise((_, reject) => reject(stop.signal.reason));
      },
    });
    await assert.rejects(generateText({ model, tools, stopWhen, prompt: "Deploy the map", abortSignal: stop.signal }));
    assert.equal((await recordOf(await next())).status, "abandoned");
  });

  it("a run that has ended listens to no signal", async () => {
    const { options, next } = reporting();
    const { signal } = new AbortController();
    const prompt = [{ role: "user", content: [{ type: "text", text: "Deploy the bell" }] }];
    await wrapped({ client, options, turn: scripted([]).turn }).doGenerate({ prompt, abortSignal: signal });
    assert.equal((await next()).outcome, "unverified");
    assert.equal(getEventListeners(signal, "abort").length, 0);
  });

  it("a model call that the SDK repeats is the same run", async () => {
    const { options, reports } = reporting();
    let begun = 0;
    const fetch = (url, init) => {
      if (url.endsWith("/episodes")) begun++;
      return globalThis.fetch(url, init);
    };
    const counted = new ALMA({ ...server.config, projectId: "shop", fetch });
    const { turn, prompts } = scripted(["blue-green"]);
    const busy = new APICallError({ message: "busy", url: "http://127.0.0.1", requestBodyValues: {}, statusCode: 503, isRetryable: true, responseHeaders: { "retry-after-ms": "1" } });
    let tries = 0;
    const model = wrapped({
      client: counted,
      options,
      turn: (asked) => {
        if (tries++ % 2 === 0) throw busy;
        return turn(asked);
      },
    });
    const { text } = await generateText({ model, tools, stopWhen, prompt: "Deploy the search" });
    assert.deepEqual([text, prompts.length, begun, reports.length], ["It is live.", 2, 1, 1]);
    assert.equal((await recordOf(reports[0])).steps.length, 1);
  });

  it("calls of tools at once are a step each", async () => {
    const { options, next } = reporting();
    const turn = ({ results }) => (results ? "Done." : ["rolling", "canary"].map((way) => ({ id: way, way })));
    await generateText({ model: wrapped({ client, options, turn }), tools, stopWhen, prompt: "Deploy the feed" });
    const { steps } = await recordOf(await next());
    assert.deepEqual(steps.map(({ action, ok }) => [action, ok]), [['deploy(way="rolling")', false], ['deploy(way="canary")', true]]);
  });

  it("a conversation is a run a question, and its messages hold no notes", async () => {
    const { options, next } = reporting({ agent: "nora" });
    await client.addKnowledge({ agent: "nora", domain: "greeting", fact: "The greeting of the house is Moin" });
    const messages = [{ role: "user", content: "What is the greeting of the house?" }];
    const { turn, prompts } = scripted([], "Moin");
    const model = wrapped({ client, options, turn });
    for (const question of ["And the greeting at night?", undefined]) {
      const { response, responseMessages = response.messages } = await generateText({ model, messages });
      messages.push(...responseMessages);
      if (question) messages.push({ role: "user", content: question });
    }
    assert.deepEqual([(await next()).task, (await next()).task], ["What is the greeting of the house?", "And the greeting at night?"]);
    assert.ok(prompts.every((text) => text.match(FENCE)?.length === 1));
    assert.equal(JSON.stringify(messages).match(FENCE), null);
  });

  it("a run that the SDK stops after a number of steps is abandoned by close, and its steps stay", async () => {
    const { options, reports, next } = reporting();
    const middleware = almaMiddleware(client, { specificationVersion, ...options });
    const model = wrapLanguageModel({ model: modelOf(SDK, scripted(["rolling", "blue-green", "canary"]).turn), middleware });
    await generateText({ model, tools, stopWhen: (isStepCount ?? stepCountIs)(2), prompt: "Deploy the ads" });
    assert.equal(reports.length, 0);
    await middleware.close();
    const record = await recordOf(await next());
    assert.deepEqual([record.status, record.steps.length], ["abandoned", 1]);
  });

  it("a new question ends a run that the SDK stopped, and is none of its steps", async () => {
    const { options, next } = reporting();
    const model = wrapped({ client, options, turn: scripted(["rolling", "blue-green"]).turn });
    const messages = [{ role: "user", content: "Deploy the news" }];
    for (const question of ["Deploy the games", undefined]) {
      const { response, responseMessages = response.messages } = await generateText({ model, tools, stopWhen: (isStepCount ?? stepCountIs)(question ? 2 : 6), messages });
      messages.push(...responseMessages, { role: "user", content: question });
    }
    const [stopped, asked] = [await recordOf(await next()), await recordOf(await next())];
    assert.deepEqual([stopped.task, stopped.status, stopped.steps.map(({ ok }) => ok)], ["Deploy the news", "abandoned", [false, true]]);
    assert.deepEqual([asked.task, asked.outcome, asked.steps.map(({ ok }) => ok)], ["Deploy the games", "unverified", [false, true]]);
  });

  it("another process goes on with a run where its tools answered", async () => {
    const { options, next } = reporting();
    const { turn } = scripted(["rolling", "blue-green"]);
    const messages = [{ role: "user", content: "Deploy the quiz" }];
    const { response, responseMessages = response.messages } = await generateText({ model: wrapped({ client, options, turn }), tools, stopWhen: (isStepCount ?? stepCountIs)(2), messages });
    messages.push(...responseMessages);
    await generateText({ model: wrapped({ client, options, turn }), tools, stopWhen, messages });
    const { task, steps } = await recordOf(await next());
    assert.deepEqual([task, steps.map(({ ok }) => ok)], ["Deploy the quiz", [true]]);
  });

  it("one model serves runs at once, even where calls have the same id, question and user", async () => {
    const { options, reports } = reporting();
    const ways = { "a.": "canary", "b.": "blue-green", "c.": "rolling" };
    const turn = ({ text, results }) => (results > 1 ? `Done ${text.slice(0, 2)}` : { id: "call-0", way: ways[text.slice(0, 2)] });
    const model = wrapped({ client, options, turn });
    const held = [];
    const execute = async ({ way }) => {
      await new Promise((resolve) => held.push(resolve));
      return way;
    };
    const runs = Object.keys(ways).map(async (system, place) => {
      while (held.length < place) await new Promise(setImmediate);
      return generateText({ model, tools: { deploy: { ...tools.deploy, execute } }, stopWhen, system, prompt: "Deploy the lamps" });
    });
    for (const _ of [1, 2]) {
      while (held.length < 3) await new Promise(setImmediate);
      for (const release of held.splice(0).reverse()) release(); // the last to ask is the first that is answered
    }
    await Promise.all(runs);
    const found = await Promise.all(reports.map(async (report) => [report.answer, (await recordOf(report)).steps.map(({ action }) => action)]));
    assert.deepEqual(found.sort(), Object.entries(ways).map(([system, way]) => [`Done ${system}`, Array(2).fill(`deploy(way="${way}")`)]));
  });

  it("functions name the agent and the user of a call", async () => {
    const { options, next } = reporting({ agent: ({ providerOptions }) => providerOptions.alma.agent, userId: ({ providerOptions }) => providerOptions.alma.user });
    const model = wrapped({ client, options, turn: scripted([]).turn });
    await generateText({ model, prompt: "Deploy it", providerOptions: { alma: { agent: "zoe", user: "kim" } } });
    const { agent, userId } = await next();
    assert.deepEqual([agent, userId], ["zoe", "kim"]);
  });

  it("gives the model tools to recall, to check and to save", async () => {
    const asked = [
      { name: "save_fact", input: { topic: "release", fact: "The release day of the shop is Tuesday" } },
      { name: "save_preference", input: { topic: "tone", preference: "Write answers in short words" } },
      { name: "recall_memory", input: { query: "When is the release day of the shop?" } },
      { name: "check_action", input: { action: "drop the table of orders" } },
    ];
    await client.addAntiPattern({ agent: "tess", pattern: "drop the table of orders", whyBad: "the orders are lost", betterAlternative: "archive them" });
    const { options, next } = reporting({ agent: "tess", userId: "kim" });
    const turn = ({ results }) => (results < asked.length ? { id: `call-${results}`, ...asked[results] } : "Done.");
    const model = wrapped({ client, options, turn });
    const { steps } = await generateText({ model, tools: almaTools(client, { agent: "tess", userId: "kim", timeout: 30_000 }), stopWhen, prompt: "Look after the memory" });
    const answers = steps.flatMap(({ toolResults }) => toolResults.map(({ output }) => output));
    assert.deepEqual(answers.slice(0, 2), ["Saved.", "Saved."]);
    assert.match(answers[2], /release day of the shop is Tuesday/);
    assert.doesNotMatch(answers[2], /\[[A-Z]+\d*\]/);
    assert.match(answers[3], /orders are lost/);
    assert.equal((await recordOf(await next())).steps.length, 0);
    const other = await client.retrieve({ query: "What tone has an answer?", agent: "tess", userId: "lou" });
    assert.doesNotMatch(other.prompt, /short words/);
  });

  it("the tools say that the memory is away, and the model goes on", async () => {
    const away = new ALMA({ baseUrl: "http://127.0.0.1:9", projectId: "shop", retry: { maxRetries: 0 }, logger: { warn() {} } });
    const { recall_memory } = almaTools(away, { agent: "tess" });
    assert.match(await recall_memory.execute({ query: "anything" }), /does not answer/);
    assert.equal("save_preference" in almaTools(away, { agent: "tess" }), false);
  });
});
