import { segment, snake, split } from "./arguments.js";
import type { Transport } from "./transport.js";
import type { Answer, Arguments, CallOptions, Schemas } from "./types.js";

export type Webhook = Answer<Schemas["ShownWebhook"]>;
export type WebhookDelivery = Answer<Schemas["ShownDelivery"]>;
export type AddWebhookOptions = Arguments<Schemas["AddWebhook"]> & CallOptions;
export type ChangeWebhookOptions = Arguments<Schemas["ChangeWebhook"]> & CallOptions;
export type CreateTokenOptions = Arguments<Schemas["NewToken"]> & CallOptions;
export type Token = Answer<Schemas["ShownToken"]>;

/** Calls without a key: sent again they would do something else, or twice. */
const ONCE = { retries: 0 };
const path = (id: string, what = "") => `webhooks/${segment(id, "id")}${what}`;

/** Receivers of events, as far as the token may manage them. */
export class Webhooks {
  constructor(private readonly to: Transport) {}

  /** Adds a receiver. Its `secret` is in this answer only. */
  async add(options: AddWebhookOptions): Promise<Webhook> {
    const [call, fields] = split(options);
    return this.to.json({ ...call, method: "POST", path: "webhooks", body: snake(fields) });
  }

  async list(options: CallOptions = {}): Promise<Webhook[]> {
    return (await this.to.json<{ webhooks: Webhook[] }>({ ...options, method: "GET", path: "webhooks" })).webhooks;
  }

  async get(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.to.json({ ...options, method: "GET", path: path(id) });
  }

  /** Changes settings. `isEnabled` stops deliveries, or goes on where they stopped. */
  async change(id: string, options: ChangeWebhookOptions): Promise<Webhook> {
    const [call, fields] = split(options);
    return this.to.json({ ...call, method: "PATCH", path: path(id), body: snake(fields) });
  }

  async remove(id: string, options: CallOptions = {}): Promise<void> {
    return this.to.json({ ...options, method: "DELETE", path: path(id) });
  }

  /** Sends the event `webhook.test`, and returns how the receiver answered. */
  async test(id: string, options: CallOptions = {}): Promise<Answer<Schemas["Tested"]>> {
    return this.to.json({ ...options, ...ONCE, method: "POST", path: path(id, "/test") });
  }

  /** Gives a new secret, which is in this answer only. The former one signs besides for 24 hours. */
  async rotateSecret(id: string, options: CallOptions = {}): Promise<Webhook> {
    return this.to.json({ ...options, ...ONCE, method: "POST", path: path(id, "/secret:rotate") });
  }

  /** Returns how the newest deliveries stand. */
  async deliveries(
    id: string,
    { status, limit, ...call }: { status?: Schemas["WebhookDeliveryStatus"]; limit?: number } & CallOptions = {},
  ): Promise<WebhookDelivery[]> {
    const query = { status, limit };
    return (await this.to.json<{ deliveries: WebhookDelivery[] }>({ ...call, method: "GET", path: path(id, "/deliveries"), query }))
      .deliveries;
  }

  /** Tries a failed delivery again, at once. */
  async retry(id: string, position: string, options: CallOptions = {}): Promise<void> {
    return this.to.json({ ...options, method: "POST", path: path(id, `/deliveries/${segment(position, "position")}:retry`) });
  }

  /** Delivers all events behind a position once more, with the same ids. */
  async replay(id: string, since: string, options: CallOptions = {}): Promise<void> {
    return this.to.json({ ...options, method: "POST", path: path(id, "/replay"), body: { since } });
  }
}

/** Tokens of the server that can do no more than the one of this client. */
export class Tokens {
  constructor(private readonly to: Transport) {}

  async list(options: CallOptions = {}): Promise<Token[]> {
    return (await this.to.json<{ tokens: Token[] }>({ ...options, method: "GET", path: "/v1/tokens" })).tokens;
  }

  /** Makes a token. Its `secret` is in this answer only. */
  async create(options: CreateTokenOptions): Promise<Answer<Schemas["MadeToken"]>> {
    const [call, fields] = split(options);
    return this.to.json({ ...call, ...ONCE, method: "POST", path: "/v1/tokens", body: snake(fields) });
  }

  /** Revokes a token, from the next request on. */
  async revoke(name: string, options: CallOptions = {}): Promise<void> {
    return this.to.json({ ...options, method: "DELETE", path: `/v1/tokens/${segment(name, "name")}` });
  }
}
