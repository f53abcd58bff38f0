import assert from "node:assert/strict";
import { createHmac } from "node:crypto";
import { it } from "node:test";
import { verify, WebhookVerificationError } from "alma-memory/webhooks";
import { python } from "./serving.mjs";

const SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const SIGN = `
import json, sys
from alma_events.webhooks.signing import delivery_headers
body, timestamp, *keys = sys.argv[1:]
print(json.dumps(delivery_headers(body.encode(), message_id="evt_1", event_type="memory.created", timestamp=int(timestamp), keys=keys, extra={})))
`;
const BODY = JSON.stringify({ id: "evt_1", type: "memory.created", memory_id: "m1", data: { text: "Zürich 🎉" } });
const now = () => Math.floor(Date.now() / 1000);

/** Returns the headers of a delivery as ALMA signs it in Python. */
const signed = async (body, keys, timestamp = now()) => JSON.parse(await python("-c", SIGN, body, String(timestamp), ...keys));
const refused = (...given) => assert.rejects(verify(...given), WebhookVerificationError);

it("what Python signed is verified: as text or bytes, with headers of any sort, by any of the secrets", async () => {
  for (const secret of [SECRET, "any text as a secret"]) {
    const headers = await signed(BODY, [secret]);
    const upper = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toUpperCase(), value]));
    for (const body of [BODY, new TextEncoder().encode(BODY), Buffer.from(BODY), new TextEncoder().encode(BODY).buffer]) {
      for (const sent of [headers, upper, new Headers(headers)]) {
        const event = await verify(body, sent, ["whsec_b3RoZXI=", secret]);
        assert.deepEqual([event.type, event.memory_id, event.data.text], ["memory.created", "m1", "Zürich 🎉"]);
      }
    }
  }
  const rotated = await signed(BODY, [SECRET, "former"]);
  await verify(BODY, rotated, SECRET);
  await verify(BODY, rotated, "former");
});

it("anything else is refused", async () => {
  const headers = await signed(BODY, [SECRET]);
  await refused(BODY, headers, "whsec_b3RoZXI=");
  await refused(BODY, headers, []);
  await refused(`${BODY} `, headers, SECRET);
  await refused(BODY, { ...headers, "webhook-id": "evt_2" }, SECRET);
  await refused(BODY, { ...headers, "webhook-timestamp": String(Number(headers["webhook-timestamp"]) + 1) }, SECRET);
  await refused(BODY, { ...headers, "webhook-signature": "v1,%%%" }, SECRET);
  await refused(BODY, { ...headers, "webhook-signature": headers["webhook-signature"].replace("v1,", "v2,") }, SECRET);
  for (const name of ["webhook-id", "webhook-timestamp", "webhook-signature"]) await refused(BODY, { ...headers, [name]: undefined }, SECRET);
});

it("a request of another time is refused, unless it is within the tolerance", async () => {
  for (const age of [-400, 400]) {
    const headers = await signed(BODY, [SECRET], now() - age);
    await refused(BODY, headers, SECRET);
    await verify(BODY, headers, SECRET, { tolerance: 500 });
  }
  const signature = createHmac("sha256", "a secret").update(`evt_1.soon.${BODY}`).digest("base64");
  await refused(BODY, { "webhook-id": "evt_1", "webhook-timestamp": "soon", "webhook-signature": `v1,${signature}` }, "a secret");
});

it("a secret that is no key verifies nothing, as anyone can sign by an empty key", async () => {
  const headers = await signed(BODY, [SECRET]);
  for (const secret of [undefined, null, "", "whsec_", "whsec_%%%"]) await refused(BODY, headers, secret);
});
