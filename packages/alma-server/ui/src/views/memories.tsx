import type { JSX } from "preact";
import { act, forgetMemory, undoable } from "../acts.js";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Answer, Box, DayBox, Empty, Head, Kind, MemoryLink, Select, Time, Verdict } from "../parts.js";
import { go, hrefWith, param, scope } from "../router.js";
import { Inline, Stored, Suspicious } from "../text.js";
import { BUILT_IN, count, headline, kindName, many, particulars, percent, spaced } from "../words.js";

const SIZE = 50;
const COLUMNS = ["kind", "agent", "user", "record", "made"] as const;
type Column = (typeof COLUMNS)[number];
const STATUSES: [string, string][] = [
  ["", "In use"],
  ["quarantined", "In quarantine"],
];

/** All memories, a page at a time. */
export function Memories(): JSX.Element {
  const [kind, q, status, since, order, cursor] = ["kind", "q", "status", "since", "order", "cursor"].map(param) as [string, string, string, string, string, string];
  const kinds = useAsked(`kinds ${scope.value.project}`, api.kinds);
  const filter = { kind, q, status, since: since && `${since}T00:00:00Z`, order, cursor };
  const given = Object.fromEntries(Object.entries(filter).filter(([, value]) => value)) as api.ListFilter;
  const asked = useAsked(JSON.stringify([scope.value, given]), (signal) => api.list(given, SIZE, signal));
  const total = useAsked(JSON.stringify([scope.value, { ...given, cursor: "", order: "" }, "total"]), (signal) => api.total(given, signal));
  const set = (changes: Record<string, string | null>) => go(hrefWith({ ...changes, cursor: null }));
  const columns = shownColumns();
  const own = Object.keys(kinds.answer?.registered ?? {});
  return (
    <>
      <Head title="Memories" note={<span role="status">{total.answer === undefined ? "…" : many(total.answer, "memory", "memories")}</span>} />
      <div class="filters">
        <Box label="Words" isSearch verb="Find" value={q} onSend={(words) => set({ q: words })} />
        <Select label="Kind" value={kind} onChange={(value) => set({ kind: value })} options={[["", "All kinds"], ...[...BUILT_IN, ...own].map((name): [string, string] => [name, kindName(name, 2)])]} />
        <Select label="Status" value={status} onChange={(value) => set({ status: value })} options={STATUSES} />
        <DayBox label="Since" value={since} onChange={(value) => set({ since: value })} />
        <Select
          label="Order"
          value={order}
          onChange={(value) => set({ order: value })}
          options={[
            ["", "Newest first"],
            ["oldest", "Oldest first"],
          ]}
        />
        <Columns shown={columns} />
      </div>
      <Answer asked={asked} rows={12}>
        {(page) =>
          page.memories.length === 0 ? (
            <Empty title={Object.keys(given).length || scope.value.agent || scope.value.user ? "No memory fits these filters." : "Nothing is remembered yet."}>
              {Object.keys(given).length > 0 && (
                <p>
                  <a href={hrefWith({ kind: null, q: null, status: null, since: null, order: null, cursor: null })}>Clear the filters</a>
                </p>
              )}
            </Empty>
          ) : (
            <>
              <Table memories={page.memories} columns={columns} status={status} />
              <nav class="pager" aria-label="Pages">
                {cursor && <a href={hrefWith({ cursor: null })}>First page</a>}
                {page.next && (
                  <a href={hrefWith({ cursor: page.next })} rel="next">
                    Next {SIZE}
                  </a>
                )}
              </nav>
            </>
          )
        }
      </Answer>
    </>
  );
}

function Table({ memories, columns, status }: { memories: api.Memory[]; columns: Column[]; status: string }): JSX.Element {
  const has = (name: Column) => columns.includes(name);
  const canAct = !api.isReadOnly;
  return (
    <div class="table-place">
      <table class="list">
        <thead>
          <tr>
            {has("kind") && <th scope="col">Kind</th>}
            <th scope="col" class="wide">
              Text
            </th>
            {has("record") && (
              <th scope="col" class="figure">
                Record
              </th>
            )}
            {has("agent") && <th scope="col">Agent</th>}
            {has("user") && <th scope="col">User</th>}
            {has("made") && <th scope="col">Made</th>}
            {canAct && (
              <th scope="col">
                <span class="unseen">Acts</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {memories.map((memory) => (
            <tr key={memory.id}>
              {has("kind") && (
                <td data-label="Kind">
                  <Kind kind={memory.kind} />
                </td>
              )}
              <td class="wide">
                <Text memory={memory} />
              </td>
              {has("record") && (
                <td class="figure" data-label="Record">
                  <RecordOf memory={memory} />
                </td>
              )}
              {has("agent") && (
                <td data-label="Agent">
                  <Inline text={memory.agent} />
                </td>
              )}
              {has("user") && <td data-label="User">{memory.user_id ? <Inline text={memory.user_id} /> : "–"}</td>}
              {has("made") && (
                <td data-label="Made">
                  <Time at={memory.created_at} isDay />
                </td>
              )}
              {canAct && (
                <td class="acts">
                  {status === "quarantined" ? (
                    <button type="button" class="quiet" onClick={() => releaseMemory(memory)}>
                      Release
                    </button>
                  ) : (
                    <button type="button" class="quiet" onClick={() => forgetMemory(memory)}>
                      Archive
                    </button>
                  )}
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Text({ memory }: { memory: api.Memory }): JSX.Element {
  const flagged = memory.metadata.flagged;
  if (typeof flagged === "string") {
    return (
      <>
        <Suspicious text={headline(memory)} reason={flagged} />
        <a href={hrefWith({})} class="unseen" data-row="" data-id={memory.id} onClick={(event) => event.preventDefault()}>
          Memory in quarantine
        </a>
      </>
    );
  }
  const [first] = particulars(memory);
  return (
    <>
      <span class="clamp">
        <MemoryLink memory={memory} isRow />
      </span>
      {first && (
        <div class="particular">
          <span class="soft">{first[0]}</span>
          <Stored text={first[1]} lines={2} />
        </div>
      )}
    </>
  );
}

/** Verdict of an outcome, successes of a rule. */
function RecordOf({ memory }: { memory: api.Memory }): JSX.Element {
  if (memory.kind === "outcome") return <Verdict verdict={memory.outcome} />;
  if (memory.kind !== "heuristic" && memory.kind !== "anti_pattern") return <>–</>;
  const { success_count, occurrence_count } = memory;
  if (!occurrence_count) return <span class="soft">stated</span>;
  return (
    <span title={percent(success_count / occurrence_count)}>
      {count(success_count)} of {count(occurrence_count)}
    </span>
  );
}

/** Lets a memory out of quarantine. */
export function releaseMemory(memory: api.Memory): void {
  void act(() => undoable(() => api.release([memory.id]), "Released from quarantine"));
}

function shownColumns(): Column[] {
  const chosen = param("cols");
  return chosen ? COLUMNS.filter((name) => chosen.split(".").includes(name)) : COLUMNS.filter((name) => name !== "user");
}

function Columns({ shown }: { shown: Column[] }): JSX.Element {
  const toggle = (name: Column) => {
    const next = COLUMNS.filter((each) => (each === name ? !shown.includes(each) : shown.includes(each)));
    go(hrefWith({ cols: next.join(".") || "none" }), { isReplaced: true });
  };
  return (
    <details class="columns">
      <summary>Columns</summary>
      <fieldset>
        <legend class="unseen">Columns</legend>
        {COLUMNS.map((name) => (
          <label>
            <input type="checkbox" checked={shown.includes(name)} onChange={() => toggle(name)} />
            {spaced(name)}
          </label>
        ))}
      </fieldset>
    </details>
  );
}
