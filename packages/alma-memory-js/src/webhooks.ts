import type { EventType, MemoryEvent } from "./events.js";

export type { EventType, MemoryEvent } from "./events.js";

/** Several events in one request. */
export interface EventBatch {
  id: string;
  type: "batch";
  timestamp: string;
  events: MemoryEvent[];
}

/** Event of each type, told apart by `type`. */
export type WebhookEvent = { [Type in EventType]: MemoryEvent<Type> }[EventType] | EventBatch;

/** A request is not signed by any of the secrets, is too old, or has no signature. */
export class WebhookVerificationError extends Error {
  override name = "WebhookVerificationError";
  readonly code = "WEBHOOK_VERIFICATION";
}

/** Headers of a request: a `Headers`, or an object as Node.js has it. */
export type RequestHeaders =
  | { get(name: string): string | null }
  | { readonly [name: string]: string | readonly string[] | undefined };

/**
 * Returns the event of a request that one of the secrets signed.
 *
 * `body` is the body as it came: a body that was parsed and written again has another signature. `secrets` is one or several, as after a
 * rotation: `whsec_…`, or any text. A request is refused that was sent more than `tolerance` seconds ago or ahead, by default 300.
 * Anything wrong is a `WebhookVerificationError`. The signature is that of Standard Webhooks.
 */
export async function verify(
  body: string | Uint8Array | ArrayBuffer,
  headers: RequestHeaders,
  secrets: string | readonly string[],
  { tolerance = 300 }: { tolerance?: number } = {},
): Promise<WebhookEvent> {
  const [id, timestamp, signatures] = ["webhook-id", "webhook-timestamp", "webhook-signature"].map((name) => header(headers, name));
  if (!id || !timestamp || !signatures) throw new WebhookVerificationError("the request has no signature");
  const age = Math.abs(Date.now() / 1000 - Number(timestamp));
  if (!(age <= tolerance)) throw new WebhookVerificationError("the request is too old, or a clock is wrong");
  const bytes = typeof body === "string" ? encode(body) : new Uint8Array(body);
  const signed = joined(encode(`${id}.${timestamp}.`), bytes);
  const given = signatures.split(" ").filter((each) => each.startsWith("v1,"));
  for (const secret of [secrets].flat()) {
    const key = await crypto.subtle.importKey("raw", keyOf(secret), { name: "HMAC", hash: "SHA-256" }, false, ["verify"]);
    for (const each of given) {
      if (await crypto.subtle.verify("HMAC", key, decode(each.slice(3)), signed)) return JSON.parse(new TextDecoder().decode(bytes));
    }
  }
  throw new WebhookVerificationError("no secret signed the request");
}

function header(headers: RequestHeaders, name: string): string | undefined {
  if (typeof headers.get === "function") return headers.get(name) ?? undefined;
  const found = Object.entries(headers).find(([each]) => each.toLowerCase() === name)?.[1];
  return [found].flat()[0] as string | undefined;
}

function keyOf(secret: string | undefined): Uint8Array<ArrayBuffer> {
  const key = secret?.startsWith("whsec_") ? decode(secret.slice(6)) : encode(secret ?? ""); // a variable of the environment may be missing
  if (!key.length) throw new WebhookVerificationError("a secret is missing, or no Base64"); // anyone can sign by an empty key
  return key;
}

/** Returns the bytes of Base64, none for a text that is none. */
function decode(base64: string): Uint8Array<ArrayBuffer> {
  try {
    return Uint8Array.from(atob(base64), (each) => each.charCodeAt(0));
  } catch {
    return new Uint8Array();
  }
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

function joined(head: Uint8Array, tail: Uint8Array): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(head.length + tail.length);
  bytes.set(head);
  bytes.set(tail, head.length);
  return bytes;
}
