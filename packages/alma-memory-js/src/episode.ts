/// <reference lib="esnext.disposable" preserve="true" />
import { segment, snake, split } from "./arguments.js";
import { memory } from "./memories.js";
import type { Transport } from "./transport.js";
import type { Answer, CallOptions, EndOptions, EpisodeRecord, Found, Schemas, Step, StepOptions } from "./types.js";

/** Attempt at a task. `await using` ends it as not judged, unless it was ended before. */
export class Episode implements AsyncDisposable {
  /** Attempt as the server has it: as it was begun, and after `end` as it ended. */
  record: EpisodeRecord;
  /** Memories shown, best first. */
  readonly memories: Found[];
  /** Notes for the prompt. */
  readonly prompt: string;
  readonly hint: string | null;

  /** Made by `ALMA.episode`. */
  constructor(
    private readonly transport: Transport,
    begun: Answer<Schemas["Begun"]>,
  ) {
    this.record = begun.episode;
    this.memories = begun.memories.map((each) => ({ ...each, memory: memory(each.memory) }));
    this.prompt = begun.prompt;
    this.hint = begun.hint;
  }

  get id(): string {
    return this.record.id;
  }

  /** Stores an action. A failure (`ok: false`), and the first success after it, become memories; without `ok` it is not judged. */
  async step(action: string, options: StepOptions = {}): Promise<Step> {
    return this.post("steps", { action, ...options });
  }

  /** Returns the ids of the memories that a text of the agent cites. They count as used when the episode ends. */
  async observe(text: string, options: CallOptions = {}): Promise<string[]> {
    return (await this.post<Schemas["Observed"]>("observe", { text, ...options })).memory_ids;
  }

  /** Ends the attempt with a verdict, by default as not judged. Ending it twice alike does nothing; otherwise it is a `ConflictError`. */
  async end(options: EndOptions = {}): Promise<EpisodeRecord> {
    this.record = await this.post<EpisodeRecord>("end", options);
    return this.record;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.record.status === "open") await this.end();
  }

  private async post<T>(what: string, given: object): Promise<T> {
    const [call, fields] = split(given);
    const { id, agent, user_id } = this.record;
    const path = `episodes/${segment(id, "id")}/${what}`;
    return this.transport.json<T>({ ...call, method: "POST", path, query: { agent, user_id }, body: snake(fields) });
  }
}
