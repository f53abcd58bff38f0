import type { JSX } from "preact";
import { useEffect, useId, useState } from "preact/hooks";
import { act, forgetMemory, toast, undoable, undoTo } from "../acts.js";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Forest } from "../charts/forest.js";
import { useKeys } from "../keys.js";
import { Answer, Box, Empty, Fault, Figures, Head, Judgement, Kind, MemoryLink, Time, Verdict } from "../parts.js";
import { go, href, hrefWith, param, route, scope } from "../router.js";
import { Inline, plain, Stored, Suspicious } from "../text.js";
import { count, decimals, duration, editableTexts, headline, kindName, many, particulars, percent, range, spaced, taskOf } from "../words.js";
import { releaseMemory } from "./memories.js";
import { Signals, Why } from "./search.js";

/** A memory with all that is known of it. */
export function MemoryView(): JSX.Element {
  const id = route.value.id ?? "";
  const asked = useAsked(id ? JSON.stringify([scope.value, id]) : null, (signal) => find(id, signal));
  if (!id) return <Lookup />;
  return (
    <>
      {!asked.answer && <Head title="Memory" />}
      <Answer asked={asked} rows={10}>
        {(found) => <Shown key={id} {...found} />}
      </Answer>
    </>
  );
}

interface FoundMemory {
  memory: api.Memory;
  isQuarantined: boolean;
}

/** Finds a memory in use, else one in quarantine, which only a list has. */
async function find(id: string, signal: AbortSignal): Promise<FoundMemory> {
  try {
    return { memory: await api.memory(id, signal), isQuarantined: false };
  } catch (error) {
    const held = await api.list({ status: "quarantined" }, 200, signal).catch(() => undefined);
    const memory = held?.memories.find((each) => each.id === id);
    if (memory) return { memory, isQuarantined: true };
    throw error;
  }
}

function Lookup(): JSX.Element {
  return (
    <>
      <Head title="Memory" />
      <Box label="Id of a memory" verb="Open" value="" onSend={(id) => id && go(href("memory", id))} />
    </>
  );
}

function Shown({ memory, isQuarantined }: FoundMemory): JSX.Element {
  const [isEditing, setEditing] = useState(false);
  const canEdit = !api.isReadOnly && !isQuarantined && editableTexts(memory).length > 0;
  useKeys({
    ...(canEdit && { e: () => setEditing(true) }),
    ...(!api.isReadOnly && { x: () => forgetMemory(memory) }),
  });
  const text = headline(memory);
  return (
    <article class="memory">
      <Head
        title={<Kind kind={memory.kind} />}
        note={
          <>
            <code class="id">
              <Inline text={memory.id} />
            </code>
          </>
        }
      >
        {canEdit && (
          <button type="button" onClick={() => setEditing(true)}>
            Edit
          </button>
        )}
        {isQuarantined && !api.isReadOnly && (
          <button type="button" onClick={() => releaseMemory(memory)}>
            Release
          </button>
        )}
        {!api.isReadOnly && (
          <>
            <button type="button" onClick={() => forgetMemory(memory)}>
              Archive
            </button>
            <button type="button" class="danger" onClick={() => forgetMemory(memory, { purge: true })}>
              Erase
            </button>
          </>
        )}
      </Head>
      {isEditing ? (
        <Edit memory={memory} onEnd={() => setEditing(false)} />
      ) : isQuarantined ? (
        <Suspicious text={text} reason={String(memory.metadata.flagged ?? "suspicious")} />
      ) : (
        <div class="lead">
          <Stored text={text} />
        </div>
      )}
      {!isEditing &&
        particulars(memory).map(([label, value]) => (
          <section class="particular-block">
            <h2>{plain(label)}</h2>
            <Stored text={value} />
          </section>
        ))}
      <Numbers memory={memory} />
      <div class="buttons tight">
        <Signals memory={memory} agent={scope.value.agent ?? memory.agent} />
        <a class="button-link" href={href("graph", memory.id)}>
          Graph around it
        </a>
      </div>
      {(memory.kind === "heuristic" || memory.kind === "anti_pattern") && <Evidence memory={memory} />}
      {!api.isReadOnly && <Explain memory={memory} />}
      <Origin memory={memory} />
      <History memory={memory} />
    </article>
  );
}

/** Numbers of a memory: its record, confidence, owner and times. */
export function Numbers({ memory }: { memory: api.Memory }): JSX.Element {
  const rule = memory.kind === "heuristic" || memory.kind === "anti_pattern" ? memory : undefined;
  const tries = rule?.occurrence_count ?? 0;
  return (
    <Figures
      of={[
        ...(memory.kind === "outcome" ? ([["Verdict", <Verdict verdict={memory.outcome} />]] as [string, JSX.Element][]) : []),
        ...(memory.kind === "outcome" && memory.verdict_source ? ([["Judged by", memory.verdict_source]] as [string, string][]) : []),
        ...(memory.kind === "outcome" && memory.duration_ms ? ([["Took", duration(memory.duration_ms)]] as [string, string][]) : []),
        ...(memory.kind === "outcome" && memory.task_type ? ([["Task type", <Inline text={memory.task_type} />]] as [string, JSX.Element][]) : []),
        ...(rule && tries
          ? ([["Worked", `${count(rule.success_count)} of ${count(tries)} (${percent(rule.success_count / tries)})`]] as [string, string][])
          : []),
        ["Confidence", decimals(memory.confidence)],
        ["Agent", <Inline text={memory.agent} />],
        ...(memory.user_id ? ([["User", <Inline text={memory.user_id} />]] as [string, JSX.Element][]) : []),
        ["Made", <Time at={memory.created_at} />],
        ["Changed", <Time at={memory.updated_at} />],
      ]}
    />
  );
}

/** Record of a rule, and the outcomes that it was learned from. */
function Evidence({ memory }: { memory: api.Memory }): JSX.Element {
  const limit = 50;
  const outcomes = useAsked(JSON.stringify([scope.value, memory.id, "evidence"]), (signal) => api.evidence(memory.id, limit, signal));
  const ways = useAsked(JSON.stringify([scope.value, memory.id, "way"]), (signal) => api.strategies(memory.agent, { task: taskOf(memory), limit: 100 }, signal));
  const way = ways.answer?.rows.find((each) => each.heuristic_id === memory.id || each.anti_pattern_id === memory.id);
  return (
    <section>
      <h2>Evidence</h2>
      {way && (
        <div class="evidence-line">
          <Forest rate={way.rate} interval={way.interval} />
          <span>
            {count(way.successes)} of {count(way.trials)}, {many(way.tasks, "task")}, interval {range(way.interval)}
          </span>
          <Judgement verdict={way.verdict} />
        </div>
      )}
      <Answer asked={outcomes} rows={4}>
        {(found) => (found.length ? <Outcomes outcomes={found} /> : <p class="soft">Stated, not learned: no outcome stands behind it.</p>)}
      </Answer>
    </section>
  );
}

/** Outcomes as a table, newest first. */
export function Outcomes({ outcomes }: { outcomes: api.Memory[] }): JSX.Element {
  return (
    <div class="table-place">
      <table class="list outcomes">
        <thead>
          <tr>
            <th scope="col">Verdict</th>
            <th scope="col" class="wide">
              Task
            </th>
            <th scope="col">When</th>
          </tr>
        </thead>
        <tbody>
          {outcomes.map((each) => (
            <tr key={each.id}>
              <td data-label="Verdict">{each.kind === "outcome" && <Verdict verdict={each.outcome} />}</td>
              <td class="wide">
                <span class="clamp">
                  <MemoryLink memory={each} />
                </span>
                {each.kind === "outcome" && each.error_message && <Stored text={each.error_message} lines={2} />}
              </td>
              <td data-label="When">
                <Time at={each.created_at} isDay />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Explain({ memory }: { memory: api.Memory }): JSX.Element {
  const task = param("task");
  return (
    <section>
      <h2>Would a task find it?</h2>
      <Box label="Task" isLabelHidden placeholder="Describe a task" verb="Explain" value={task} onSend={(value) => go(hrefWith({ task: value }))} />
      {task && <Why id={memory.id} agent={scope.value.agent ?? memory.agent} task={task} />}
    </section>
  );
}

const ORIGIN: [string, string][] = [
  ["source", "Source"],
  ["verdict_source", "Judged by"],
  ["tool", "Tool"],
  ["document", "Document"],
  ["session_id", "Session"],
  ["run_id", "Run"],
  ["step", "Step"],
  ["imported_from", "Imported from"],
  ["flagged", "Flagged"],
];

function Origin({ memory }: { memory: api.Memory }): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, memory.id, "origin"]), (signal) => api.provenance(memory.id, signal));
  return (
    <section>
      <h2>Where it comes from</h2>
      <Answer asked={asked} rows={2}>
        {(found) => {
          const fields = found as unknown as Record<string, unknown>;
          const learned = Object.entries(found.learned_from ?? {}).map(([source, n]) => `${many(Number(n), "outcome")} judged by ${source}`);
          return (
            <Figures
              of={[
                ["Recorded", <Time at={found.recorded_at} />],
                ["Last seen", <Time at={found.seen_at} />],
                ...(learned.length ? ([["Learned from", learned.join(", ")]] as [string, string][]) : []),
                ...ORIGIN.flatMap(([name, label]): [string, JSX.Element][] =>
                  fields[name] === null || fields[name] === undefined ? [] : [[label, <Inline text={String(fields[name])} />]],
                ),
                ...(found.episode_id ? ([["Episode", <code><Inline text={found.episode_id} /></code>]] as [string, JSX.Element][]) : []),
              ]}
            />
          );
        }}
      </Answer>
    </section>
  );
}

/** What every call did to a memory, newest first, field by field. */
function History({ memory }: { memory: api.Memory }): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, memory.id, "history"]), (signal) => api.history(memory.id, signal));
  return (
    <section>
      <h2>History</h2>
      <Answer asked={asked} rows={4}>
        {(entries) =>
          entries.length === 0 ? (
            <Empty title="No record of it." />
          ) : (
            <ol class="history">
              {entries.toReversed().map((entry) => (
                <li key={`${entry.seq} ${entry.what}`}>
                  <div class="history-head">
                    <a href={href("journal", null, { at: entry.seq })}>#{entry.seq}</a>
                    <span>
                      <b>{spaced(entry.what)}</b> by {entry.actor ? <Inline text={entry.actor} /> : "no agent"}, {entry.operation.replaceAll("_", " ")}
                    </span>
                    <Time at={entry.at} />
                    {!api.isReadOnly && (
                      <button type="button" class="quiet" onClick={() => undoTo(entry.seq - 1)} aria-label={`Undo from here, record ${entry.seq}`}>
                        Undo from here
                      </button>
                    )}
                  </div>
                  <Diff changed={entry.changed as Record<string, { old?: unknown; new?: unknown }>} />
                </li>
              ))}
            </ol>
          )
        }
      </Answer>
    </section>
  );
}

function Diff({ changed }: { changed: Record<string, { old?: unknown; new?: unknown }> }): JSX.Element | null {
  const fields = Object.entries(changed).filter(([, { old, new: made }]) => old !== made);
  if (!fields.length) return null;
  return (
    <details>
      <summary>{many(fields.length, "field")}</summary>
      <dl class="diff">
        {fields.map(([name, { old, new: made }]) => (
          <div>
            <dt>{plain(spaced(name))}</dt>
            <dd>
              {old !== null && old !== undefined && (
                <del>
                  <Stored text={shown(old)} lines={3} />
                </del>
              )}
              {made !== null && made !== undefined && (
                <ins>
                  <Stored text={shown(made)} lines={3} />
                </ins>
              )}
            </dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

const shown = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value, null, 1));

function Edit({ memory, onEnd }: { memory: api.Memory; onEnd: () => void }): JSX.Element {
  const id = useId();
  const [stored] = useState(() => editableTexts(memory));
  const [typed, setTyped] = useState(() => stored.map(({ text }) => text));
  const [error, setError] = useState<Error>();
  useEffect(() => document.getElementById(`${id}-0`)?.focus(), []);
  const save = async () => {
    const changed = Object.fromEntries(stored.flatMap(({ name, text }, index) => (typed[index] === text ? [] : [[name, typed[index] ?? ""]])));
    if (!Object.keys(changed).length) return onEnd();
    try {
      const done = await undoable(() => api.edit(memory.id, "definition" in memory ? { fields: changed } : changed), `${kindName(memory.kind)} edited`);
      await act(async () => done);
      onEnd();
    } catch (caught) {
      toast.value = undefined;
      setError(caught as Error);
    }
  };
  return (
    <form
      class="edit"
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
      onKeyDown={(event) => event.key === "Escape" && onEnd()}
    >
      {stored.map(({ label }, index) => (
        <p class="field">
          <label for={`${id}-${index}`}>{plain(label)}</label>
          <textarea
            id={`${id}-${index}`}
            dir="auto"
            rows={Math.min(12, (typed[index] ?? "").split("\n").length + 1)}
            value={typed[index]}
            onInput={(event) => setTyped(typed.with(index, event.currentTarget.value))}
          />
        </p>
      ))}
      {error && <Fault error={error} />}
      <p class="buttons">
        <button type="submit" class="primary">
          Save
        </button>
        <button type="button" onClick={onEnd}>
          Cancel
        </button>
      </p>
    </form>
  );
}
