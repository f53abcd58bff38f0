import { computed, signal } from "@preact/signals";

/** Place in the page. The address has all of it, so that each place is a link. */
export interface Route {
  view: string;
  id: string | undefined;
  query: URLSearchParams;
}

export type Changes = Record<string, string | number | boolean | null | undefined>;

/** Parameters that go along to every view. */
const SCOPE = ["project", "agent", "user"] as const;

export const route = signal<Route>(parse(location.hash));
addEventListener("hashchange", () => {
  route.value = parse(location.hash);
});

/** Project that is looked at where the address names none. */
export const home = signal<string | undefined>(undefined);

/** Whose memory is looked at. */
export const scope = computed(() => {
  const { query } = route.value;
  const of = (name: (typeof SCOPE)[number]) => query.get(name) || undefined;
  return { project: of("project") ?? home.value, agent: of("agent"), user: of("user") };
});

/** Returns a parameter of the address, "" if it is not there. */
export function param(name: string): string {
  return route.value.query.get(name) ?? "";
}

/** Returns the address of a view for the same project, agent and user. */
export function href(view: string, id?: string | null, changes: Changes = {}): string {
  const query = new URLSearchParams();
  for (const name of SCOPE) set(query, name, route.value.query.get(name));
  return address(view, id ?? undefined, query, changes);
}

/** Returns the address of the same view with other parameters. */
export function hrefWith(changes: Changes): string {
  const { view, id, query } = route.value;
  return address(view, id, new URLSearchParams(query), changes);
}

/** Goes to an address. `isReplaced` leaves no step for the back button. */
export function go(to: string, { isReplaced = false } = {}): void {
  if (isReplaced) {
    history.replaceState(null, "", to);
    route.value = parse(location.hash);
  } else {
    location.hash = to;
  }
}

function address(view: string, id: string | undefined, query: URLSearchParams, changes: Changes): string {
  for (const [name, value] of Object.entries(changes)) set(query, name, value);
  const asked = query.toString();
  return `#/${view}${id === undefined ? "" : `/${encodeURIComponent(id)}`}${asked && `?${asked}`}`;
}

function set(query: URLSearchParams, name: string, value: Changes[string]): void {
  if (value === undefined || value === null || value === "" || value === false) query.delete(name);
  else query.set(name, value === true ? "1" : String(value));
}

function parse(hash: string): Route {
  const [path = "", asked = ""] = hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const [view = "", id] = path.split("/");
  return { view: view || "search", id: id ? decoded(id) : undefined, query: new URLSearchParams(asked) };
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
