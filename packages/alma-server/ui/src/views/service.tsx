import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { act, propose } from "../acts.js";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Answer, Empty, Figures, Head, Select, Time } from "../parts.js";
import { go, hrefWith, param, scope } from "../router.js";
import { session } from "../session.js";
import { Inline } from "../text.js";
import { bytes, count, duration, many } from "../words.js";

/** The server: health, tokens, receivers of events. */
export function Service(): JSX.Element {
  return (
    <>
      <Head title="Service" />
      <Health />
      <Tokens />
      <Webhooks />
    </>
  );
}

function Health(): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value.project, "health"]), async (signal) => ({
    ready: (await api.ready(signal)).status,
    version: await api.version(signal),
    who: await api.whoami(signal),
    stats: await api.stats(signal),
  }));
  return (
    <section aria-labelledby="health-title">
      <h2 id="health-title">Health</h2>
      <Answer asked={asked} rows={2}>
        {({ ready, version, who, stats }) => (
          <Figures
            of={[
              ["Status", ready],
              ["Version", version.version],
              ["API", version.api],
              ["Memories", count(stats.total)],
              ["Journal", many(stats.journal_records, "record")],
              ["Store", bytes(stats.database_bytes)],
              ["Embedder", <Inline text={stats.embedder} />],
              ["Token", <Inline text={who.name} />],
              ["Rights", who.rights.join(", ")],
              ["Judges as", who.source],
            ]}
          />
        )}
      </Answer>
    </section>
  );
}

const RIGHTS = ["read", "write", "forget", "judge", "events", "admin"];

function Tokens(): JSX.Element {
  const asked = useAsked("tokens", api.tokens);
  const [secret, setSecret] = useState<{ name: string; secret: string }>();
  return (
    <section aria-labelledby="tokens-title">
      <h2 id="tokens-title">Tokens</h2>
      {secret && <Secret what={`Token ${secret.name}`} secret={secret.secret} onClose={() => setSecret(undefined)} />}
      <Answer asked={asked} rows={4}>
        {(tokens) =>
          tokens.length ? (
            <div class="table-place">
              <table class="list">
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">Agent</th>
                    <th scope="col">User</th>
                    <th scope="col" class="wide">
                      Rights
                    </th>
                    <th scope="col">Judges as</th>
                    <th scope="col">Last used</th>
                    <th scope="col">
                      <span class="unseen">Acts</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {tokens.map((token) => (
                    <tr key={token.name}>
                      <th scope="row">
                        <Inline text={token.name} />
                      </th>
                      <td data-label="Agent">{token.agent === "*" ? "any" : <Inline text={token.agent} />}</td>
                      <td data-label="User">{token.user_id === "*" ? "any" : token.user_id ? <Inline text={token.user_id} /> : "none"}</td>
                      <td class="wide" data-label="Rights">
                        {token.rights.join(", ")}
                      </td>
                      <td data-label="Judges as">{token.source}</td>
                      <td data-label="Last used">{token.last_used ? <Time at={token.last_used} /> : "never"}</td>
                      <td class="acts">
                        <button type="button" class="quiet" onClick={() => revoke(token)} disabled={token.name === session.value?.name}>
                          Revoke
                        </button>
                      </td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </div>
          ) : (
            <Empty title="No token that this one may manage." />
          )
        }
      </Answer>
      <NewToken onMade={setSecret} />
    </section>
  );
}

function revoke(token: api.Token): void {
  propose({
    title: "Revoke this token?",
    verb: "Revoke",
    preview: async () => ({
      says: (
        <p>
          Clients with <Inline text={token.name} /> are refused from the next request on. This cannot be undone; a new token can be made.
        </p>
      ),
    }),
    carry: async () => {
      await api.revokeToken(token.name);
      return { says: `Revoked ${token.name}` };
    },
  });
}

function NewToken({ onMade }: { onMade: (made: { name: string; secret: string }) => void }): JSX.Element {
  const id = useId();
  const agents = useAsked(`agents ${scope.value.project}`, (signal) => api.names("agents", signal));
  const [name, setName] = useState("");
  const [agent, setAgent] = useState("");
  const [rights, setRights] = useState(["read", "write"]);
  const make = () =>
    act(async () => {
      const made = await api.createToken({ name, rights, agent: agent || "*", userId: "*", projects: null } as never);
      onMade({ name, secret: made.secret });
      setName("");
      return { says: `Made the token ${name}` };
    });
  return (
    <details class="new">
      <summary>New token</summary>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (name && rights.length) void make();
        }}
      >
        <p class="field">
          <label for={id}>Name</label>
          <input id={id} value={name} required autocomplete="off" onInput={(event) => setName(event.currentTarget.value)} />
        </p>
        <Select label="Agent" value={agent} onChange={setAgent} options={[["", "Any agent"], ...(agents.answer ?? []).map((each): [string, string] => [each, each])]} />
        <fieldset>
          <legend>Rights</legend>
          {RIGHTS.map((right) => (
            <label>
              <input
                type="checkbox"
                checked={rights.includes(right)}
                onChange={() => setRights(rights.includes(right) ? rights.filter((each) => each !== right) : [...rights, right])}
              />
              {right}
            </label>
          ))}
        </fieldset>
        <p class="buttons">
          <button type="submit">Make the token</button>
        </p>
      </form>
    </details>
  );
}

/** Secret that is shown once. */
function Secret({ what, secret, onClose }: { what: string; secret: string; onClose: () => void }): JSX.Element {
  return (
    <div class="notice" role="status">
      <p>
        <Inline text={what} />. Its secret is shown only now:
      </p>
      <p>
        <code class="secret">{secret}</code>
      </p>
      <button type="button" onClick={onClose}>
        I have kept it
      </button>
    </div>
  );
}

function Webhooks(): JSX.Element {
  const id = useId();
  const asked = useAsked(JSON.stringify([scope.value.project, "webhooks"]), api.webhooks);
  const [url, setUrl] = useState("");
  const [secret, setSecret] = useState<{ what: string; secret: string }>();
  const open = param("webhook");
  const keep = (what: string) => (hook: api.Webhook) => {
    if (hook.secret) setSecret({ what, secret: hook.secret });
  };
  const add = () =>
    act(async () => {
      keep("Receiver added")(await api.addWebhook(url));
      setUrl("");
      return { says: "Receiver added" };
    });
  return (
    <section aria-labelledby="webhooks-title">
      <h2 id="webhooks-title">Webhooks</h2>
      {secret && <Secret {...secret} onClose={() => setSecret(undefined)} />}
      <Answer asked={asked} rows={3}>
        {(hooks) =>
          hooks.length ? (
            <div class="table-place">
              <table class="list">
                <thead>
                  <tr>
                    <th scope="col" class="wide">
                      Address
                    </th>
                    <th scope="col">State</th>
                    <th scope="col">Deliveries</th>
                    <th scope="col">
                      <span class="unseen">Acts</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {hooks.map((hook) => (
                    <Hook key={hook.id} hook={hook} isOpen={open === hook.id} onSecret={keep("New secret; the former one signs besides for 24 hours")} />
                  ))}
                </tbody>
              </table>
            </div>
          ) : (
            <p class="soft">No receiver yet. One gets each event of what this token may read, signed.</p>
          )
        }
      </Answer>
      <details class="new">
        <summary>New receiver</summary>
        <form
          onSubmit={(event) => {
            event.preventDefault();
            if (url) void add();
          }}
        >
          <p class="field">
            <label for={id}>Address</label>
            <input id={id} type="url" value={url} required placeholder="https://example.com/hook" onInput={(event) => setUrl(event.currentTarget.value)} />
          </p>
          <p class="buttons">
            <button type="submit">Add the receiver</button>
          </p>
        </form>
      </details>
    </section>
  );
}

function Hook({ hook, isOpen, onSecret }: { hook: api.Webhook; isOpen: boolean; onSecret: (hook: api.Webhook) => void }): JSX.Element {
  const isOn = hook.state !== "disabled" && hook.state !== "stopped";
  const counts = Object.entries(hook.deliveries).map(([status, n]) => `${count(n)} ${status}`);
  const test = () =>
    act(async () => {
      const { is_success, status, error, ms } = await api.testWebhook(hook.id);
      if (!is_success) throw new Error(error || `The receiver answered ${status}`);
      return { says: `The receiver answered ${status} in ${duration(ms)}` };
    });
  const rotate = () =>
    act(async () => {
      onSecret(await api.rotateSecret(hook.id));
      return { says: "The receiver has a new secret" };
    });
  const turn = () =>
    act(async () => {
      await api.switchWebhook(hook.id, !isOn);
      return { says: isOn ? "Deliveries stopped" : "Deliveries go on", undo: () => api.switchWebhook(hook.id, isOn) };
    });
  return (
    <>
      <tr>
        <td class="wide">
          <Inline text={hook.url} />
        </td>
        <td data-label="State">
          {hook.state}
          {hook.reason && (
            <span class="soft">
              {" "}
              <Inline text={hook.reason} />
            </span>
          )}
        </td>
        <td data-label="Deliveries">
          <button type="button" class="quiet" aria-expanded={isOpen} onClick={() => go(hrefWith({ webhook: isOpen ? null : hook.id }), { isReplaced: true })}>
            {counts.join(", ") || "none"}
          </button>
        </td>
        <td class="acts">
          <button type="button" class="quiet" onClick={() => void test()}>
            Test
          </button>
          <button type="button" class="quiet" onClick={() => void turn()}>
            {isOn ? "Stop" : "Go on"}
          </button>
          <button type="button" class="quiet" onClick={() => void rotate()}>
            New secret
          </button>
          <button type="button" class="quiet" onClick={() => remove(hook)}>
            Remove
          </button>
        </td>
      </tr>
      {isOpen && (
        <tr class="inner">
          <td colSpan={4}>
            <Deliveries hook={hook} />
          </td>
        </tr>
      )}
    </>
  );
}

function remove(hook: api.Webhook): void {
  propose({
    title: "Remove this receiver?",
    verb: "Remove",
    preview: async () => ({
      says: (
        <p>
          <Inline text={hook.url} /> gets no more events, and what is known of its deliveries goes. This cannot be undone.
        </p>
      ),
    }),
    carry: async () => {
      await api.removeWebhook(hook.id);
      return { says: "Receiver removed" };
    },
  });
}

function Deliveries({ hook }: { hook: api.Webhook }): JSX.Element {
  const asked = useAsked(`deliveries ${hook.id}`, (signal) => api.deliveries(hook.id, signal));
  return (
    <Answer asked={asked} rows={3}>
      {(all) =>
        all.length === 0 ? (
          <p class="soft">Nothing was delivered yet.</p>
        ) : (
          <table class="list">
            <thead>
              <tr>
                <th scope="col">Event</th>
                <th scope="col">Status</th>
                <th scope="col" class="wide">
                  Answer
                </th>
                <th scope="col">Last try</th>
                <th scope="col">
                  <span class="unseen">Acts</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {all.map((each) => (
                <tr key={each.position}>
                  <td data-label="Event">{each.event_type}</td>
                  <td data-label="Status">
                    {each.status}, {many(each.attempts, "try", "tries")}
                  </td>
                  <td class="wide" data-label="Answer">
                    {each.status_code ?? ""} {each.last_error && <Inline text={each.last_error} />}
                  </td>
                  <td data-label="Last try">{each.last_attempt ? <Time at={each.last_attempt} /> : "–"}</td>
                  <td class="acts">
                    {each.status === "failed" && (
                      <button
                        type="button"
                        class="quiet"
                        onClick={() =>
                          void act(async () => {
                            await api.retryDelivery(hook.id, each.position);
                            return { says: "Tried again" };
                          })
                        }
                      >
                        Retry
                      </button>
                    )}
                    <button
                      type="button"
                      class="quiet"
                      onClick={() =>
                        void act(async () => {
                          await api.replay(hook.id, each.position);
                          return { says: "All events after it are delivered once more" };
                        })
                      }
                    >
                      Replay after it
                    </button>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        )
      }
    </Answer>
  );
}
