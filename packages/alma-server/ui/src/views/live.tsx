import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { MemoryEvent } from "../../../../alma-memory-js/src/index.js";
import * as api from "../api.js";
import { Empty, Fault, Head, Select, Time } from "../parts.js";
import { go, href, hrefWith, param, scope } from "../router.js";
import { Inline } from "../text.js";
import { count, kindName, many } from "../words.js";

const KEPT = 500;
/** A page that is read out should not be flooded. */
const ANNOUNCE_MS = 5000;

/** Changes of the memory as they come. */
export function Live(): JSX.Element {
  const only = param("type");
  const [events, setEvents] = useState<MemoryEvent[]>([]);
  const [isPaused, setPaused] = useState(false);
  const [error, setError] = useState<Error>();
  const [tries, setTries] = useState(0);
  const waiting = useRef<MemoryEvent[]>([]);
  const paused = useRef(false);
  paused.current = isPaused;
  const [waitingCount, setWaitingCount] = useState(0);
  const { project, agent } = scope.value;
  useEffect(() => {
    const end = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const flush = () => {
      timer = undefined;
      if (paused.current) return setWaitingCount(waiting.current.length);
      const fresh = waiting.current.splice(0).reverse();
      if (fresh.length) setEvents((old) => [...fresh, ...old].slice(0, KEPT));
    };
    const follow = async () => {
      try {
        for await (const event of api.events({ signal: end.signal, agents: agent ? [agent] : undefined })) {
          waiting.current.push(event);
          timer ??= setTimeout(flush, 150);
        }
      } catch (caught) {
        if (!end.signal.aborted) setError(caught as Error);
      }
    };
    void follow();
    return () => {
      end.abort();
      clearTimeout(timer);
    };
  }, [project, agent, tries]);
  const toggle = () => {
    setPaused(!isPaused);
    if (isPaused) {
      const fresh = waiting.current.splice(0).reverse();
      setEvents((old) => [...fresh, ...old].slice(0, KEPT));
      setWaitingCount(0);
    }
  };
  const types = [...new Set(events.map((event) => event.type))].toSorted();
  const shown = only ? events.filter((event) => event.type === only) : events;
  return (
    <>
      <Head title="Live" note={isPaused ? `Paused, ${many(waitingCount, "event")} waiting` : "Events as they come"}>
        <Select label="Type" isLabelHidden value={only} options={[["", "All types"], ...types.map((type): [string, string] => [type, type])]} onChange={(type) => go(hrefWith({ type }), { isReplaced: true })} />
        <button type="button" aria-pressed={isPaused} onClick={toggle}>
          {isPaused ? "Go on" : "Pause"}
        </button>
      </Head>
      <Announced count={events.length} />
      {error && (
        <Fault
          error={error}
          retry={() => {
            setError(undefined);
            setTries(tries + 1);
          }}
        />
      )}
      {shown.length === 0 && !error ? (
        <Empty title="Waiting for events.">
          <p>What any agent, tool or person changes from now on is shown here.</p>
        </Empty>
      ) : (
        <div class="table-place">
          <table class="list live">
            <thead>
              <tr>
                <th scope="col">When</th>
                <th scope="col" class="wide">
                  Event
                </th>
                <th scope="col">Kind</th>
                <th scope="col">Agent</th>
                <th scope="col" class="figure">
                  Record
                </th>
              </tr>
            </thead>
            <tbody>
              {shown.map((event) => (
                <tr key={event.id}>
                  <td data-label="When">
                    <Time at={event.timestamp} />
                  </td>
                  <td class="wide">
                    {event.memory_id ? (
                      <a href={href("memory", event.memory_id)} data-row="">
                        {event.type}
                      </a>
                    ) : (
                      event.type
                    )}
                  </td>
                  <td data-label="Kind">{event.memory_type ? kindName(event.memory_type) : "–"}</td>
                  <td data-label="Agent">{event.agent ? <Inline text={event.agent} /> : "–"}</td>
                  <td class="figure" data-label="Record">
                    <a href={href("journal", null, { at: event.seq })}>{count(event.seq)}</a>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </>
  );
}

/** Number of events for who hears the page, at most every few seconds. */
function Announced({ count: total }: { count: number }): JSX.Element {
  const [told, setTold] = useState(0);
  const newest = useRef(total);
  newest.current = total;
  useEffect(() => {
    const timer = setInterval(() => setTold(newest.current), ANNOUNCE_MS);
    return () => clearInterval(timer);
  }, []);
  return (
    <p class="unseen" aria-live="polite">
      {told ? many(told, "event") : ""}
    </p>
  );
}
