import { isALMAError } from "./errors.js";
import { isTransient, sleep, type Transport } from "./transport.js";
import type { CallOptions, JsonObject, Schemas } from "./types.js";

export type EventType = Schemas["MemoryEventType"];

/** Change of a memory. With `payload: "full"` the payload has the memory; else ids and numbers only. */
export interface MemoryEvent<Type extends string = EventType> {
  id: string;
  type: Type;
  timestamp: string;
  event_type: Type;
  project_id: string;
  agent: string | null;
  user_id: string | null;
  memory_type: string | null;
  memory_id: string | null;
  seq: number;
  index: number;
  previous: string | null;
  chain: string;
  actor: string;
  operation: string;
  replayed: boolean;
  payload: JsonObject;
  data: JsonObject;
  metadata: JsonObject;
}

export interface EventOptions extends Pick<CallOptions, "signal"> {
  /** Position after which to begin: that of a stream before, or `seq.index` of an event. By default now, and without `follow` the beginning. */
  after?: string | number | undefined;
  types?: readonly EventType[] | undefined;
  agents?: readonly string[] | undefined;
  kinds?: readonly string[] | undefined;
  payload?: "thin" | "full" | undefined;
  /** Whether to go on with new events. By default true. */
  follow?: boolean | undefined;
}

const PAGE = 200;
/** The server sends a comment each 15 s. A stream that is silent for longer is broken. */
const SILENT_MS = 45_000;

/**
 * Events in the order of the journal. To be gone through once.
 *
 * It connects again whenever the connection breaks, and goes on where it was: no event is left out, and none comes twice.
 * It ends when the loop does or the signal aborts, and rejects if the server refuses it.
 */
export class EventStream implements AsyncIterable<MemoryEvent> {
  private at: string | undefined;

  /** Made by `ALMA.events`. */
  constructor(
    private readonly transport: Transport,
    private readonly options: EventOptions,
  ) {
    this.at = options.after === undefined ? undefined : String(options.after);
  }

  /** Position in the journal behind the events that were handed out, as `after` takes it. `undefined` until the stream is open. */
  get position(): string | undefined {
    return this.at;
  }

  [Symbol.asyncIterator](): AsyncGenerator<MemoryEvent, void, undefined> {
    return (this.options.follow ?? true) ? this.follow() : this.pages();
  }

  private async *pages(): AsyncGenerator<MemoryEvent, void, undefined> {
    const { signal, follow, ...filter } = this.options;
    for (let isFull = true; isFull; ) {
      const query = { ...filter, after: this.at, limit: PAGE };
      const page = await this.transport.json<{ events: MemoryEvent[]; next: string }>({ method: "GET", path: "events", query, signal });
      for (const event of page.events) {
        this.at = `${event.seq}.${event.index}`;
        yield event;
      }
      this.at = page.next;
      isFull = page.events.length === PAGE;
    }
  }

  private async *follow(): AsyncGenerator<MemoryEvent, void, undefined> {
    const { signal } = this.options;
    for (let wasOpen = false; ; ) {
      const connection = new AbortController();
      let pause = 2000;
      try {
        const response = await this.open(signal ? AbortSignal.any([signal, connection.signal]) : connection.signal);
        wasOpen = true;
        for await (const frame of frames(response, () => connection.abort())) {
          pause = frame.retry ?? pause;
          const event: MemoryEvent | undefined = frame.data && JSON.parse(frame.data);
          this.at = frame.id ?? this.at;
          if (event) yield event;
        }
      } catch (error) {
        if (signal?.aborted) return;
        if (error instanceof SyntaxError || (isALMAError(error) && !(wasOpen && isTransient(error)))) throw error;
      } finally {
        connection.abort();
      }
      await sleep(pause * (0.5 + Math.random() / 2), signal).catch(() => undefined);
      if (signal?.aborted) return;
    }
  }

  private open(signal: AbortSignal): Promise<Response> {
    const { types, agents, kinds, payload } = this.options;
    const headers = { Accept: "text/event-stream", ...(this.at !== undefined && { "Last-Event-ID": this.at }) };
    const query = { types, agents, kinds, payload };
    return this.transport.ask({ method: "GET", path: "events", query, headers, signal }, async (response) => response);
  }
}

interface Frame {
  id?: string;
  data?: string;
  retry?: number;
}

/** Yields the frames of a stream that are complete. Calls `onSilence` when nothing comes for too long. */
async function* frames(response: Response, onSilence: () => void): AsyncGenerator<Frame, void, undefined> {
  let rest = "";
  const decoder = new TextDecoder();
  const reader = response.body!.getReader();
  for (;;) {
    const timer = setTimeout(onSilence, SILENT_MS);
    const { done, value } = await reader.read().finally(() => clearTimeout(timer));
    if (done) return;
    const parts = (rest + decoder.decode(value, { stream: true })).split(/\r?\n\r?\n/);
    rest = parts.pop()!;
    for (const part of parts) yield frame(part);
  }
}

function frame(text: string): Frame {
  const found: Frame = {};
  for (const line of text.split(/\r?\n/)) {
    const [, name, value = ""] = /^(\w+): ?(.*)$/.exec(line) ?? [];
    if (name === "id") found.id = value;
    if (name === "data") found.data = (found.data === undefined ? "" : `${found.data}\n`) + value;
    if (name === "retry") found.retry = Number(value);
  }
  return found;
}
