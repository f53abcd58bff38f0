/// <reference lib="es2023.array" />
import type { ALMA } from "./client.js";
import { ValidationError } from "./errors.js";
import { MEMORY_TOOLS } from "./memory-tools.js";
import { creditOf, errorIn, nameCall, readArguments, textOf, type ToolStep } from "./tool-calls.js";
import type { Schemas } from "./types.js";

export type { ToolStep } from "./tool-calls.js";

/** Name, or a function of what the framework knows of the run. */
export type Identity<Context> = string | ((context: Context) => string | undefined);

/** Whom a run is of. */
export interface Scope {
  agent?: string | undefined;
  userId?: string | undefined;
}

/** Returns the name that an option has for a run. */
export function identify<Context>(identity: Identity<Context> | undefined, context: Context): string | undefined {
  return typeof identity === "function" ? identity(context) : identity;
}

/** Returns whom a run is of: as the options say, else as the client does. */
export function scopeOf<Context>(
  client: ALMA,
  options: { agent?: Identity<Context> | undefined; userId?: Identity<Context> | undefined },
  context: Context,
): Scope {
  const { config } = client["to"];
  return {
    agent: identify(options.agent, context) ?? config.agent,
    userId: identify(options.userId, context) ?? config.userId,
  };
}

export type Outcome = Schemas["Verdict"];

/** Verdict on a run, perhaps with its reason, which the next run on such a task is shown. `null` and `undefined`: not judged. */
export type Judgement = Outcome | boolean | { outcome: Outcome | boolean; reason?: string | undefined } | null | undefined;

/** Run that has given its answer. */
export interface FinishedRun {
  agent: string;
  userId: string | undefined;
  task: string;
  answer: string;
  /** Calls of tools, in order, of all agents of the run. */
  steps: readonly ToolStep[];
  /** Episode of the run, by which `settle` judges it later. */
  episodeId: string;
}

/** Run that has been recorded. `outcome` is `undefined` where it was abandoned: nothing counts then. */
export interface RunReport extends FinishedRun {
  outcome: Outcome | undefined;
}

/** How runs are read and recorded. */
export interface RunOptions<Context> {
  /** Agent that learns. By default that of the client. */
  agent?: Identity<Context> | undefined;
  /** User for whom the agent works. By default that of the client; without one, the run is for no user. */
  userId?: Identity<Context> | undefined;
  /** Sort of the task. */
  taskType?: Identity<Context> | undefined;
  /** Number of memories of each kind. By default 5. */
  topK?: number | undefined;
  /** Limit of the notes, in tokens. By default 2,000. */
  maxTokens?: number | undefined;
  /** Judges a run that gave an answer. Without it, a run is `unverified`: an answer is no proof of success. */
  verdict?: ((run: FinishedRun) => Judgement | Promise<Judgement>) | undefined;
  /** Whether a tool did well, by its name and its answer; `undefined` where that is unknown. By default answers that report an error failed. */
  toolOutcome?: ((tool: string, result: unknown) => boolean | undefined) | undefined;
  /** Changes each text before it is stored or searched for. */
  redact?: ((text: string) => string) | undefined;
  /** Called when a run has been recorded. */
  onRun?: ((report: RunReport) => void) | undefined;
  /** Time in milliseconds that a run waits for one call of the memory. By default 2,000. */
  timeout?: number | undefined;
}

/** Call of a tool as a framework reports it. */
export interface ReportedCall {
  tool: string;
  arguments: unknown;
  result: unknown;
  /** Whether the framework says that it failed. Else its result is read. */
  isFailed?: boolean | undefined;
  /** True where a person or a limit refused the call, which says nothing about the tool. */
  isRefused?: boolean | undefined;
}

const TASK_CHARS = 2000;
const ACTION_CHARS = 1000;
const TEXT_CHARS = 2000;

/** What a run begins with. */
export interface Beginning<Context> {
  task: string;
  context: Context;
  /** Agent, where it is not that of the options. */
  agent?: string | undefined;
  threadId?: string | undefined;
  runId?: string | undefined;
  /** Steps of the whole run, where several agents share them. */
  steps?: ToolStep[] | undefined;
}

/**
 * Run of an agent, recorded as an episode of the memory.
 *
 * No error of the memory leaves its methods: the first one is logged, and the run goes on without memory. `said` and `called` cost no wait;
 * `settle`, `end`, `fail` and `abandon` wait until all is written.
 */
export class Run {
  readonly agent: string;
  readonly userId: string | undefined;
  readonly task: string;
  /** Calls of tools, in order. */
  readonly steps: ToolStep[];
  /** Notes for the prompt; empty if there are none. */
  notes = "";
  episodeId: string | undefined;
  isOver = false;
  private writes: Promise<unknown> = Promise.resolve();
  private isLost = false;
  private hasWarned = false;
  private leaveSignal = (): void => undefined;

  private constructor(
    private readonly client: ALMA,
    private readonly options: RunOptions<any>,
    begun: { agent: string; userId: string | undefined; task: string; steps?: ToolStep[] | undefined },
  ) {
    this.agent = begun.agent;
    this.userId = begun.userId;
    this.task = this.stored(begun.task, TASK_CHARS);
    this.steps = begun.steps ?? [];
  }

  /** Begins a run and looks up its notes. */
  static async begin<Context>(client: ALMA, options: RunOptions<Context>, beginning: Beginning<Context>): Promise<Run> {
    const { context } = beginning;
    let named;
    try {
      const taskType = identify(options.taskType, context);
      named = { ...scopeOf(client, options, context), ...(beginning.agent && { agent: beginning.agent }), taskType };
    } catch (error) {
      const lost = new Run(client, options, { ...beginning, agent: beginning.agent ?? "", userId: undefined });
      lost.isOver = true; // whose run it is cannot be known: nothing is read or stored
      lost.warn("the run goes on without memory", error);
      return lost;
    }
    const { agent, userId, taskType } = named;
    if (!agent) throw new ValidationError("a run needs the name of its agent", "agent");
    const run = new Run(client, options, { ...beginning, agent, userId });
    const body: Schemas["Begin"] = {
      agent,
      user_id: run.userId ?? null,
      task: run.task,
      task_type: taskType ?? null,
      run_id: beginning.runId ?? null,
      thread_id: beginning.threadId ?? null,
      top_k: options.topK ?? 5,
      max_tokens: options.maxTokens ?? 2000,
    };
    const found = await run.write<Schemas["Begun"]>("episodes", body, 0);
    run.episodeId = found?.episode.id;
    run.notes = found?.prompt ?? "";
    return run;
  }

  /** Abandons the run if this signal aborts. */
  follow(signal: AbortSignal | undefined): void {
    const abandon = () => void this.abandon("cancelled");
    signal?.addEventListener("abort", abandon, { once: true });
    this.leaveSignal = () => signal?.removeEventListener("abort", abandon);
  }

  /** Reports what the model said: the memories that it cites count as used. */
  said(text: string): void {
    if (text && this.notes && !this.isOver) void this.write(`episodes/${this.episodeId}/observe`, { text: this.stored(text, 50_000) });
  }

  /** Reports a call of a tool that has ended. */
  called(call: ReportedCall): void {
    this.guard("a call could not be reported", () => this.record(call));
  }

  private record(call: ReportedCall): void {
    const { tool, result, isFailed = false, isRefused = false } = call;
    if (this.isOver || MEMORY_TOOLS.has(tool)) return;
    const given = this.cleaned(readArguments(call.arguments)) as Record<string, unknown>;
    const ok = isRefused ? undefined : isFailed ? false : this.outcomeOf(tool, result);
    const said = ok === false ? withoutStack(errorIn(result) ?? textOf(result)) || "it failed" : textOf(result);
    const text = this.stored(said, TEXT_CHARS);
    const step: ToolStep = {
      agent: this.agent,
      tool,
      action: this.stored(nameCall(tool, given, this.task), ACTION_CHARS) || tool,
      arguments: given,
      ok,
      ...(ok === false ? { error: text } : { output: text }),
    };
    if (!isRefused) this.steps.push(step);
    void this.write(`episodes/${this.episodeId}/steps`, {
      action: step.action,
      tool,
      ok: ok ?? null,
      error: step.error || null,
      output: step.output || null,
    } satisfies Schemas["Act"]);
  }

  /** Waits until all that was reported is written. */
  async settle(): Promise<void> {
    await this.writes;
  }

  /** Ends the run with its answer, which the option `verdict` judges. */
  async end(answer = ""): Promise<void> {
    await this.close(async () => {
      const said = this.options.verdict && this.episodeId ? await this.judge(answer, this.options.verdict) : undefined;
      const { outcome, reason } = typeof said === "object" && said ? said : { outcome: said, reason: undefined };
      const verdict = typeof outcome === "boolean" ? (outcome ? "success" : "failure") : (outcome ?? "unverified");
      const feedback = reason && this.stored(reason, TEXT_CHARS);
      return { outcome: verdict, ...creditOf(this.steps, this.agent, verdict), feedback: feedback || null };
    }, answer);
  }

  /** Ends the run by its error, which blames no strategy. A cancellation is no failure. */
  async fail(error: unknown): Promise<void> {
    if ((error as Error | undefined)?.name === "AbortError") return this.abandon("cancelled");
    await this.close(() => ({ outcome: "failure", error: this.stored(withoutStack(textOf(error)) || "it failed", TEXT_CHARS) }));
  }

  /** Ends the run without a verdict. Nothing of it counts; its steps stay. */
  async abandon(reason: string): Promise<void> {
    await this.close(() => ({ outcome: null, feedback: reason }));
  }

  private async close(how: () => Schemas["End"] | Promise<Schemas["End"]>, answer = ""): Promise<void> {
    if (this.isOver) return;
    this.isOver = true;
    this.leaveSignal();
    await this.writes;
    if (this.episodeId === undefined) return;
    this.isLost = false; // an episode that was begun is worth a last try
    const body = await how();
    if (!(await this.write(`episodes/${this.episodeId}/end`, body))) return;
    const { agent, userId, task, steps, episodeId } = this;
    const outcome = (body.outcome ?? undefined) as Outcome | undefined;
    void this.tell({ agent, userId, task, answer, steps, episodeId, outcome });
  }

  private async tell(report: RunReport): Promise<void> {
    try {
      await this.options.onRun?.(report);
    } catch (error) {
      this.warn("onRun failed", error);
    }
  }

  private async judge(answer: string, verdict: NonNullable<RunOptions<any>["verdict"]>): Promise<Judgement> {
    const { agent, userId, task, steps, episodeId } = this;
    try {
      return await verdict({ agent, userId, task, answer, steps, episodeId: episodeId as string });
    } catch (error) {
      this.warn("a run could not be judged", error);
      return undefined;
    }
  }

  private outcomeOf(tool: string, result: unknown): boolean | undefined {
    const { toolOutcome = (_: string, given: unknown) => errorIn(given) === undefined } = this.options;
    return this.guard("the outcome of a tool could not be read", () => toolOutcome(tool, result));
  }

  /** Sends a write after those before it. Resolves to `undefined` if it failed, or if one before it did. */
  private write<Answer>(path: string, body: object, retries?: number): Promise<Answer | undefined> {
    const send = async (): Promise<Answer | undefined> => {
      if (this.isLost) return undefined;
      try {
        return await this.client.request<Answer>("POST", path, { body, retries, timeout: this.options.timeout ?? 2000 });
      } catch (error) {
        this.isLost = true;
        this.warn("the run goes on without memory", error);
        return undefined;
      }
    };
    const sent = this.writes.then(send);
    this.writes = sent;
    return sent;
  }

  /** Returns what a function of the caller does, `undefined` where it throws or returns a promise, for which nothing here waits. */
  private guard<T>(what: string, call: () => T): T | undefined {
    try {
      const made = call();
      if (!(made instanceof Promise)) return made;
      made.catch(() => undefined);
      throw new TypeError("it returned a promise");
    } catch (error) {
      this.warn(what, error);
      return undefined;
    }
  }

  private warn(what: string, error: unknown): void {
    if (!this.hasWarned) this.client["to"].warn(`${what}: ${textOf(error)}`);
    this.hasWarned = true;
  }

  private stored(text: string, limit: number): string {
    const { redact = (given: string) => given } = this.options;
    return String(this.guard("a text could not be redacted", () => redact(text)) ?? "").slice(0, limit).replace(/[\uD800-\uDBFF]$/, "");
  }

  private cleaned(value: unknown): unknown {
    if (typeof value === "string") return this.stored(value, Infinity);
    if (Array.isArray(value)) return value.map((each) => this.cleaned(each));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, this.cleaned(each)]));
    }
    return value;
  }
}

/** Returns an error without the lines of its stack, which differ from machine to machine. */
const withoutStack = (error: string): string => error.replace(/\n\s+at [^\n]+/g, "");
