import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { undoTo } from "../acts.js";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Answer, Empty, Fault, Head, Skeleton, Time } from "../parts.js";
import { hrefWith, param, scope } from "../router.js";
import { Inline, Stored } from "../text.js";
import { count, many } from "../words.js";

const SIZE = 50;

/** Every call that changed the memory, newest first. */
export function Journal(): JSX.Element {
  const at = Number(param("at")) || undefined;
  const asked = useAsked(JSON.stringify([scope.value.project, at]), async (signal) => {
    const head = await api.head(signal);
    const last = Math.min(at ?? head, head);
    const first = Math.max(0, last - SIZE);
    const page = await api.journal(first, SIZE, signal);
    return { head, first, last, records: page.records.filter((line) => line.seq <= last).toReversed() };
  });
  return (
    <>
      <Head title="Journal" note={asked.answer && <span role="status">{many(asked.answer.head, "record")}, newest first</span>}>
        {!api.isReadOnly && <Verified />}
      </Head>
      <Answer asked={asked} rows={12}>
        {({ head, first, last, records }) =>
          records.length === 0 ? (
            <Empty title="Nothing was recorded yet." />
          ) : (
            <>
              <Records records={records} head={head} at={at} />
              <nav class="pager" aria-label="Pages">
                {last < head && <a href={hrefWith({ at: null })}>Newest</a>}
                {last < head && <a href={hrefWith({ at: Math.min(head, last + SIZE) })}>Newer {SIZE}</a>}
                {first > 0 && <a href={hrefWith({ at: first })}>Older {SIZE}</a>}
              </nav>
            </>
          )
        }
      </Answer>
    </>
  );
}

function Records({ records, head, at }: { records: api.JournalLine[]; head: number; at: number | undefined }): JSX.Element {
  return (
    <div class="table-place">
      <table class="list journal">
        <thead>
          <tr>
            <th scope="col" class="figure">
              Record
            </th>
            <th scope="col" class="wide">
              Call
            </th>
            <th scope="col">Actor</th>
            <th scope="col">When</th>
            {!api.isReadOnly && (
              <th scope="col">
                <span class="unseen">Acts</span>
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {records.map((line) => (
            <tr key={line.seq} class={line.seq === at ? "is-open" : undefined}>
              <td class="figure" data-label="Record">
                <a href={hrefWith({ at: line.seq })} data-row="">
                  {count(line.seq)}
                </a>
              </td>
              <td class="wide" data-label="Call">
                <Inline text={line.operation.replaceAll("_", " ")} />
                {line.is_purged && <span class="badge">erased</span>}
              </td>
              <td data-label="Actor">
                {line.actor ? <Inline text={line.actor} /> : "–"}
              </td>
              <td data-label="When">
                <Time at={line.at} />
              </td>
              {!api.isReadOnly && (
                <td class="acts">
                  {line.seq < head && (
                    <button type="button" class="quiet" aria-label={`Undo to here, record ${line.seq}`} onClick={() => undoTo(line.seq)}>
                      Undo to here
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

/** Checks the chain of the journal and all that rests on it, when asked. */
function Verified(): JSX.Element {
  const [state, setState] = useState<"" | "busy" | api.Verified | Error>("");
  const check = () => {
    setState("busy");
    api.verify().then(setState, setState);
  };
  if (state === "") {
    return (
      <button type="button" onClick={check}>
        Verify the chain
      </button>
    );
  }
  return (
    <div class="verified" role="status">
      {state === "busy" ? <Skeleton rows={1} /> : state instanceof Error ? <Fault error={state} retry={check} /> : <Report report={state} />}
    </div>
  );
}

function Report({ report }: { report: api.Verified }): JSX.Element {
  const isGood = report.problems.length === 0;
  return (
    <>
      <span class={`verdict tone-${isGood ? "good" : "bad"}`}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d={isGood ? "M3 8.5 6.5 12 13 4.5" : "M4 4l8 8M12 4l-8 8"} />
        </svg>
        {isGood ? `Chain verified: ${many(report.records, "record")}` : many(report.problems.length, "problem")}
      </span>
      {!isGood && <Stored text={report.problems.map((each) => Object.values(each).join(": ")).join("\n")} />}
    </>
  );
}
