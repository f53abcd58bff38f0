import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Ids } from "../acts.js";
import * as api from "../api.js";
import { useAsked } from "../asked.js";
import { Around } from "../charts/around.js";
import { entitiesAround } from "../entity_graph.js";
import { Answer, Box, DayBox, Empty, Figures, Head, Kind, Time } from "../parts.js";
import { go, href, hrefWith, param, route, scope } from "../router.js";
import { Inline } from "../text.js";
import { count, day, many } from "../words.js";

const FOUND = 100;
const SHOWN = 200;

/** Entities of the knowledge graph: all by name, or one with what is known of it. */
export function Entities(): JSX.Element {
  const { id } = route.value;
  return id ? <One key={id} id={id} /> : <Find />;
}

function Find(): JSX.Element {
  const words = param("q");
  const asked = useAsked(JSON.stringify([scope.value, "entities", words]), (signal) => api.entities(words, FOUND, signal));
  return (
    <>
      <Head title="Entities" note="Persons, firms, tools and other things that memories name, and how they are related" />
      <Box label="Name" value={words} isSearch verb="Find" onSend={(q) => go(hrefWith({ q }))} />
      <Answer asked={asked}>
        {(found) =>
          found.length ? (
            <>
              <List entities={found} />
              {found.length === FOUND && <p class="soft">The first {FOUND} by name. Write more of the name to find others.</p>}
            </>
          ) : (
            <Empty title={words ? "No entity has these words in its name." : "No entity is known yet."}>
              {!words && <p>Entities come from memories that name them, and from relations that are stated.</p>}
            </Empty>
          )
        }
      </Answer>
    </>
  );
}

function List({ entities }: { entities: api.Entity[] }): JSX.Element {
  return (
    <div class="table-place">
      <table class="list">
        <thead>
          <tr>
            <th scope="col" class="wide">
              Name
            </th>
            <th scope="col">Type</th>
            <th scope="col">Other names</th>
            <th scope="col">Known since</th>
          </tr>
        </thead>
        <tbody>
          {entities.map((each) => (
            <tr key={each.id}>
              <td class="wide">
                <a href={href("entities", each.id)} data-row="">
                  <Inline text={each.name} />
                </a>
              </td>
              <td data-label="Type">
                <Kind kind={each.entity_type} />
              </td>
              <td data-label="Other names">
                <Names of={each.properties.aliases} />
              </td>
              <td data-label="Known since">
                <Time at={each.created_at} isDay />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function Names({ of = [] }: { of?: string[] | undefined }): JSX.Element {
  return of.length ? <Inline text={of.join(", ")} /> : <>–</>;
}

function One({ id }: { id: string }): JSX.Element {
  const asked = useAsked(JSON.stringify([scope.value, id, "entity"]), (signal) => api.entity(id, signal));
  return (
    <>
      <Head title={asked.answer ? <Inline text={asked.answer.name} /> : "Entity"}>
        <a class="button-link" href={href("entities")}>
          All entities
        </a>
      </Head>
      <Answer asked={asked}>{(entity) => <Known entity={entity} />}</Answer>
    </>
  );
}

function Known({ entity }: { entity: api.Entity }): JSX.Element {
  const picked = param("as_of");
  const asOf = endOf(picked);
  const key = [scope.value, entity.id, asOf];
  const relations = useAsked(JSON.stringify([...key, "relations"]), (signal) =>
    asOf ? api.relations(entity.id, asOf, signal) : api.allRelations(entity.id, signal),
  );
  const around = useAsked(JSON.stringify([...key, "around"]), (signal) => entitiesAround(entity, asOf, signal));
  const then = asOf ? `as of ${day(asOf)}` : undefined;
  return (
    <>
      <Figures
        of={[
          ["Type", <Kind kind={entity.entity_type} />],
          ["Other names", <Names of={entity.properties.aliases} />],
          ["Known since", <Time at={entity.created_at} isDay />],
        ]}
      />
      <section aria-labelledby="relations">
        <div class="section-head">
          <h2 id="relations">Relations, {then ?? "past and present"}</h2>
          <DayBox label="As of" value={asOf ? picked : ""} onChange={(value) => go(hrefWith({ as_of: value }))} />
          {asOf && <a href={hrefWith({ as_of: null })}>All times</a>}
        </div>
        <Answer asked={relations}>
          {(found) => (found.length ? <Relations relations={found} of={entity} /> : <p class="soft">None{then && ` ${then}`}.</p>)}
        </Answer>
      </section>
      <section class="graph" aria-labelledby="around">
        <h2 id="around">Around it, {then ?? "now"}</h2>
        <Answer asked={around}>{(nodes) => (nodes.length > 1 ? <Around nodes={nodes} /> : <p class="soft">Nothing.</p>)}</Answer>
      </section>
    </>
  );
}

function Relations({ relations, of }: { relations: api.Relation[]; of: api.Entity }): JSX.Element {
  return (
    <>
      <div class="table-place">
        <table class="list">
          <thead>
            <tr>
              {["From", "Relation", "To", "Since", "Until", "Holds", "Memories"].map((name) => (
                <th scope="col">{name}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {relations.slice(0, SHOWN).map((each) => (
              <tr key={each.id}>
                <td data-label="From">
                  <End id={each.source_id} name={each.properties.source} of={of} />
                </td>
                <td data-label="Relation">
                  <Inline text={each.relation_type.replaceAll("_", " ")} />
                </td>
                <td data-label="To">
                  <End id={each.target_id} name={each.properties.target} of={of} />
                </td>
                <td data-label="Since">{each.valid_from ? <Time at={each.valid_from} isDay /> : "–"}</td>
                <td data-label="Until">{each.valid_to ? <Time at={each.valid_to} isDay /> : "–"}</td>
                <td data-label="Holds">{stateOf(each)}</td>
                <td data-label="Memories">
                  <Behind ids={each.properties.evidence} />
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      {relations.length > SHOWN && <p class="soft">and {count(relations.length - SHOWN)} older</p>}
    </>
  );
}

function End({ id, name, of }: { id: string; name: string; of: api.Entity }): JSX.Element {
  if (id === of.id) return <Inline text={name} />;
  return (
    <a href={href("entities", id, { as_of: param("as_of") })} data-row="">
      <Inline text={name} />
    </a>
  );
}

function stateOf({ valid_from, valid_to }: api.Relation): string {
  const now = Date.now();
  if (valid_to && Date.parse(valid_to) <= now) return "ended";
  return valid_from && Date.parse(valid_from) > now ? "not yet" : "now";
}

/** Memories behind a relation: a link to the only one, or a list that opens. */
function Behind({ ids }: { ids: string[] }): JSX.Element {
  const [isOpen, setOpen] = useState(false);
  if (!ids.length) return <span class="soft">stated</span>;
  if (ids.length === 1) return <a href={href("memory", ids[0])}>1 memory</a>;
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>{many(ids.length, "memory", "memories")}</summary>
      {isOpen && <Ids ids={ids} />}
    </details>
  );
}

/** Returns the end of a day here, as the API takes times; `undefined` for what is no day. */
function endOf(picked: string): string | undefined {
  const end = new Date(`${picked}T23:59:59.999`);
  return Number.isNaN(end.getTime()) ? undefined : end.toISOString();
}
