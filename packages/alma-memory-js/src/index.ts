export { ALMA, createClient } from "./client.js";
export { Episode } from "./episode.js";
export * from "./errors.js";
export { type EventOptions, EventStream, type EventType, type MemoryEvent } from "./events.js";
export type {
  AddWebhookOptions,
  ChangeWebhookOptions,
  CreateTokenOptions,
  Token,
  Tokens,
  Webhook,
  WebhookDelivery,
  Webhooks,
} from "./managing.js";
export type * from "./types.js";
export { FeedbackSignal } from "./types.js";
export { VERSION } from "./version.js";
export type * from "./workflow-types.js";
