import "uplot/dist/uPlot.min.css";
import "./theme.css";
import { computed, signal } from "@preact/signals";
import { type ComponentType, type JSX, render } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { Confirmation, Toast, undoLast } from "./acts.js";
import * as api from "./api.js";
import { useAsked } from "./asked.js";
import { moveBy, PLACES, useKeys } from "./keys.js";
import { Answer, Select } from "./parts.js";
import { go, home, href, hrefWith, route, scope } from "./router.js";
import { end, exchangeCode, session } from "./session.js";
import { type Theme, theme } from "./theme.js";
import { Door } from "./views/door.js";
import { Entities } from "./views/entities.js";
import { Graph } from "./views/graph.js";
import { Journal } from "./views/journal.js";
import { Live } from "./views/live.js";
import { Memories } from "./views/memories.js";
import { MemoryView } from "./views/memory.js";
import { Missing } from "./views/missing.js";
import { Review } from "./views/review.js";
import { Search } from "./views/search.js";
import { Service } from "./views/service.js";
import { Strategies } from "./views/strategies.js";
import { Timeline } from "./views/timeline.js";
import { minute } from "./words.js";

const VIEWS: Record<string, ComponentType> = {
  search: Search,
  memories: Memories,
  memory: MemoryView,
  strategies: Strategies,
  review: Review,
  timeline: Timeline,
  graph: Graph,
  entities: Entities,
  journal: Journal,
  live: Live,
  service: Service,
};
/** Views that need a server. */
const OF_SERVER = new Set(["live", "service"]);
/** True where the server has entities to show. */
const hasGraph = signal(false);
const placesHere = computed(() =>
  PLACES.filter(([, view]) => (view === "entities" ? hasGraph.value : !(api.isReadOnly && OF_SERVER.has(view)))),
);

const isHelpOpen = signal(false);

function Page(): JSX.Element {
  const { view, id } = route.value;
  const View = VIEWS[view] ?? Missing;
  const isIn = api.isReadOnly || session.value !== undefined;
  useEffect(() => {
    const name = PLACES.find(([, place]) => place === view)?.[2] ?? "Memory";
    document.title = isIn ? `${name} – ALMA explorer` : "ALMA explorer";
  }, [view, isIn]);
  const isFirst = useRef(true);
  useEffect(() => {
    if (!isFirst.current) document.querySelector<HTMLElement>("h1")?.focus();
    isFirst.current = false;
  }, [view, id]);
  useEffect(() => {
    hasGraph.value = false;
    home.value = undefined; // another token may reach other projects
  }, [session.value]);
  useKeys({
    "/": focusSearch,
    "?": () => (isHelpOpen.value = true),
    j: () => moveBy(1),
    k: () => moveBy(-1),
    u: () => void undoLast(),
  });
  if (!isIn) return <Door />;
  return (
    <>
      <a class="skip" href="#main" onClick={skip}>
        Skip to the content
      </a>
      <Top />
      <Navigation />
      <main id="main" tabIndex={-1}>{scope.value.project ? <View key={view} /> : <Home />}</main>
      <Confirmation />
      <Toast />
      {isHelpOpen.value && <Help />}
    </>
  );
}

/** Finds the project to look at, before the first view. */
function Home(): JSX.Element {
  const asked = useAsked("home", api.homeProject);
  useEffect(() => {
    home.value = asked.answer;
  }, [asked.answer]);
  return <Answer asked={asked}>{() => null}</Answer>;
}

function Top(): JSX.Element {
  const { project } = scope.value;
  const projects = useAsked(project ? "projects" : null, api.projects);
  const agents = useAsked(project ? `agents ${project}` : null, (signal) => api.names("agents", signal));
  const users = useAsked(project ? `users ${project}` : null, (signal) => api.names("users", signal));
  const all = (names: string[] | undefined, one: string): [string, string][] => [
    ["", `All ${one}s`],
    ...(names ?? []).map((name): [string, string] => [name, name]),
  ];
  const pick = (name: string) => (value: string) => {
    const { view } = route.value;
    go(view === "memory" || view === "graph" ? href("memories", null, { [name]: value }) : hrefWith({ [name]: value, cursor: null }));
  };
  return (
    <header class="top">
      <a class="brand" href={href("search")}>
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d="M2 14 8 2l6 12M5 9.5h6" />
        </svg>
        <span>ALMA</span>
      </a>
      {api.made && <span class="badge">Snapshot of {minute(api.made.at)}</span>}
      <div class="pickers">
        <Select
          label="Project"
          value={project ?? ""}
          options={(projects.answer ?? [project ?? ""]).map((name) => [name, name])}
          onChange={(value) => go(href("search", null, { project: value, agent: null, user: null }))}
        />
        <Select label="Agent" value={scope.value.agent ?? ""} options={all(agents.answer, "agent")} onChange={pick("agent")} />
        <Select label="User" value={scope.value.user ?? ""} options={all(users.answer, "user")} onChange={pick("user")} />
      </div>
      <div class="tools">
        <Select
          label="Theme"
          value={theme.value}
          options={[
            ["auto", "System"],
            ["light", "Light"],
            ["dark", "Dark"],
          ]}
          onChange={(value) => (theme.value = value as Theme)}
        />
        <button type="button" class="icon" aria-label="Help: keys" title="Keys (?)" onClick={() => (isHelpOpen.value = true)}>
          ?
        </button>
        {!api.isReadOnly && (
          <button type="button" class="quiet" onClick={() => void signOut()}>
            Sign out
          </button>
        )}
      </div>
    </header>
  );
}

function Navigation(): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  const { view } = route.value;
  const graph = useAsked(!api.isReadOnly && scope.value.project ? JSON.stringify([scope.value, "graph"]) : null, api.hasGraph);
  useEffect(() => {
    if (graph.answer !== undefined) hasGraph.value = graph.answer;
  }, [graph.answer]);
  useEffect(() => setOpen(false), [route.value]);
  const here = placesHere.value.find(([, place]) => place === view || (view === "memory" && place === "memories"));
  return (
    <nav class="places" aria-label="Views">
      <button type="button" class="places-button" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {here?.[2] ?? "Views"}
        <svg viewBox="0 0 16 16" aria-hidden="true">
          <path d={isOpen ? "M3 10l5-5 5 5" : "M3 6l5 5 5-5"} />
        </svg>
      </button>
      <ul class={isOpen ? "is-open" : undefined}>
        {placesHere.value.map((place) => (
          <li>
            <a href={href(place[1])} aria-current={place === here ? "page" : undefined}>
              {place[2]}
            </a>
          </li>
        ))}
      </ul>
    </nav>
  );
}

const KEYS: [string, string][] = [
  ["/", "Go to the search box"],
  ["j  k", "Next row, row before"],
  ["Enter", "Open a row"],
  ["e", "Edit the memory that is open"],
  ["x", "Archive the memory that is open"],
  ["u", "Undo what was done last"],
  ["s  f  p  x  n", "In Review: success, failure, in part, not judged, next"],
  ["?", "This list"],
];

function Help(): JSX.Element {
  const box = useRef<HTMLDialogElement>(null);
  useEffect(() => box.current!.showModal(), []);
  return (
    <dialog ref={box} aria-labelledby="help-title" onClose={() => (isHelpOpen.value = false)}>
      <h2 id="help-title">Keys</h2>
      <table class="keys">
        <tbody>
          {KEYS.map(([key, does]) => (
            <tr>
              <th scope="row">
                {key.split(/\s+/).map((each) => (
                  <kbd>{each}</kbd>
                ))}
              </th>
              <td>{does}</td>
            </tr>
          ))}
          {placesHere.value.map(([letter, , name]) => (
            <tr>
              <th scope="row">
                <kbd>g</kbd>
                <kbd>{letter}</kbd>
              </th>
              <td>{name}</td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="buttons end">
        <button type="button" class="primary" onClick={() => box.current!.close()}>
          Close
        </button>
      </p>
    </dialog>
  );
}

function skip(event: Event): void {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

function focusSearch(): void {
  const box = document.querySelector<HTMLInputElement>("[data-search]");
  if (box) {
    box.focus();
    box.select();
  } else {
    go(href("search"));
    setTimeout(() => document.querySelector<HTMLInputElement>("[data-search]")?.focus());
  }
}

async function signOut(): Promise<void> {
  const made = session.value?.name;
  if (made) await api.revokeToken(made).catch(() => undefined);
  end("You are signed out.");
}

void exchangeCode().then(() => render(<Page />, document.getElementById("page")!));
