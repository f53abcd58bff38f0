import { segment } from "./arguments.js";
import { isNotFoundError, NotFoundError, NotImplementedError, ValidationError } from "./errors.js";
import type { Transport } from "./transport.js";
import type { Answer, CallOptions, JsonObject, Schemas } from "./types.js";
import type {
  ArtifactRef,
  Checkpoint,
  CheckpointOptions,
  CheckpointResponse,
  CleanupCheckpointsOptions,
  CleanupCheckpointsResponse,
  GetArtifactsOptions,
  GetArtifactsResponse,
  LinkArtifactOptions,
  LinkArtifactResponse,
  MergeStatesOptions,
  MergeStatesResponse,
  ResumeOptions,
  ResumeResponse,
  RetrieveScopedOptions,
  WorkflowLearnOptions,
  WorkflowLearnResponse,
  WorkflowNames,
} from "./workflow-types.js";

const SCOPES: Record<string, Schemas["RetrieveScoped"]["scope"]> = {
  node: "workflow_only",
  run: "workflow_only",
  workflow: "workflow_only",
  agent: "agent_only",
  tenant: "project_wide",
  global: "project_wide",
};
const CHECKSUM = /^sha256:[0-9a-f]{64}$/;
const PUBLISHED_TYPES = ["file", "image", "log", "report", "data", "other"];

export async function checkpoint(to: Transport, given: CheckpointOptions): Promise<CheckpointResponse> {
  const { state, metadata, name, branch = given.branchId, node = given.nodeId } = given;
  const body = { state, metadata, name, branch, node, user_id: userOf(to, given) };
  const made = shown(await to.json({ ...call(given), method: "PUT", path: at(given, "checkpoint"), body }));
  return { success: true, checkpointId: made.id, sequenceNumber: made.sequenceNumber, checkpoint: made };
}

export async function resume(to: Transport, given: ResumeOptions): Promise<ResumeResponse> {
  const { name, node, branch = given.branchId, checkpointId } = given;
  const query = { name, node, branch, user_id: userOf(to, given) };
  try {
    const found = shown(await to.json({ ...call(given), method: "GET", path: at(given, "checkpoint"), query }));
    if (checkpointId !== undefined && checkpointId !== found.id) {
      throw new NotImplementedError(`only the newest checkpoint can be resumed, which is ${found.id}`);
    }
    return { success: true, checkpoint: found, state: found.state };
  } catch (error) {
    if (!isNotFoundError(error)) throw error;
    return { success: true, checkpoint: null, state: null };
  }
}

export async function mergeStates(to: Transport, given: MergeStatesOptions): Promise<MergeStatesResponse> {
  const { reducer = given.reducers, states = await statesOf(to, given) } = given;
  const body = { states, reducer, user_id: userOf(to, given) };
  const path = at(given, "merge");
  const { state } = await to.json<{ state: JsonObject }>({ ...call(given), method: "POST", path, body, isWrite: false });
  return { success: true, mergedState: state, branchesMerged: Object.keys(states ?? {}).length };
}

async function statesOf(to: Transport, given: MergeStatesOptions): Promise<Record<string, JsonObject> | undefined> {
  if (!given.branchIds) return undefined;
  const found = await Promise.all(
    given.branchIds.map(async (branch) => {
      const { state } = await resume(to, { ...given, branch });
      if (!state) throw new NotFoundError(`branch ${branch} has no checkpoint`, "workflow", workflowOf(given));
      return [branch, state] as const;
    }),
  );
  return Object.fromEntries(found);
}

export async function workflowLearn(to: Transport, given: WorkflowLearnOptions): Promise<WorkflowLearnResponse> {
  const named = { workflowId: given.workflowId, runId: given.runId, ...given.context };
  const { tenantId, runId, nodeId, branchId } = given.context ?? {};
  const { successfulPatterns, failedPatterns, nodeCount } = given;
  const metadata = { ...defined({ tenantId, runId, nodeId, branchId, successfulPatterns, failedPatterns, nodeCount }), ...given.metadata };
  const body = {
    agent: given.agent ?? to.config.agent,
    user_id: userOf(to, given),
    result: given.result,
    summary: given.summary || `Workflow ${workflowOf(named)}`,
    strategies_used: given.strategiesUsed,
    task_type: given.taskType,
    duration_seconds: given.durationSeconds,
    error_message: given.errorMessage,
    ...(Object.keys(metadata).length && { metadata }),
  };
  const outcome = await to.json<WorkflowLearnResponse["outcome"]>({ ...call(given), method: "POST", path: at(named, "learn"), body });
  return { success: true, outcomeId: outcome.id, outcome };
}

export async function linkArtifact(to: Transport, given: LinkArtifactOptions): Promise<LinkArtifactResponse> {
  const { artifactType, checksum, filename, mimeType, sizeBytes, ref = given.storageUrl } = given;
  const isPublished = PUBLISHED_TYPES.includes(artifactType);
  const isOurs = checksum === undefined || CHECKSUM.test(checksum);
  const extras = defined({
    ...(isPublished && { artifactType }),
    ...(!isOurs && { checksum }),
    filename,
    mimeType,
    sizeBytes,
  });
  const body = {
    artifact_type: isPublished ? "document" : artifactType,
    ref,
    checksum: isOurs ? checksum : undefined,
    metadata: { ...given.metadata, ...extras },
    user_id: userOf(to, given),
  };
  const made = await to.json<Schemas["Artifact"]>({ ...call(given), method: "POST", path: at(given, "artifacts"), body });
  return { success: true, artifact: artifact(made) };
}

export async function getArtifacts(to: Transport, given: GetArtifactsOptions): Promise<GetArtifactsResponse> {
  const { artifactType } = given;
  const query = { user_id: userOf(to, given), artifact_type: PUBLISHED_TYPES.includes(artifactType ?? "") ? "document" : artifactType };
  const path = at(given, "artifacts");
  const found = await to.json<Schemas["Artifacts"]>({ ...call(given), method: "GET", path, query });
  const artifacts = found.artifacts.map(artifact);
  return { success: true, artifacts: artifacts.filter((each) => !artifactType || each.artifactType === artifactType) };
}

export async function cleanupCheckpoints(to: Transport, given: CleanupCheckpointsOptions): Promise<CleanupCheckpointsResponse> {
  if (given.branchId !== undefined) throw new NotImplementedError("one branch alone cannot be erased");
  const { keep = given.keepLatest ?? 1, olderThanDays = given.runId === undefined ? undefined : 0 } = given;
  const workflow_id = given.workflowId ?? given.runId;
  if (!workflow_id && ("workflowId" in given || "runId" in given)) workflowOf(given);
  const query = { keep, older_than_days: olderThanDays, workflow_id, user_id: userOf(to, given) };
  const { erased } = await to.json<Schemas["Cleaned"]>({ ...call(given), method: "DELETE", path: "checkpoints", query });
  return { success: true, deleted: erased, kept: keep };
}

/** Returns the path and the body of a search within a scope. */
export function scopedSearch(to: Transport, given: RetrieveScopedOptions): { path: string; body: JsonObject } {
  const { query, topK, maxTokens, context, scope } = given;
  const names = { workflowId: given.workflowId, runId: given.runId, ...context };
  const wanted = SCOPES[scope] ?? scope;
  const path = at(wanted === "workflow_only" ? names : { workflowId: workflowIn(names) ?? "any" }, "retrieve");
  const agent = given.agent ?? to.config.agent;
  return { path, body: { query, scope: wanted, agent, user_id: userOf(to, given), top_k: topK, max_tokens: maxTokens } };
}

function shown(made: Answer<Schemas["Checkpoint"]>): Checkpoint {
  const { workflow_id, number, state, metadata, branch, node, name, created_at } = made;
  return {
    id: `${workflow_id}/${number}`,
    runId: workflow_id,
    workflowId: workflow_id,
    nodeId: node,
    branchId: branch,
    name,
    state,
    sequenceNumber: number,
    createdAt: created_at,
    metadata,
  };
}

function artifact(made: Schemas["Artifact"]): ArtifactRef {
  const known = { artifactType: made.artifact_type, checksum: made.checksum ?? undefined, ...made.metadata } as Partial<ArtifactRef>;
  const { artifactType = made.artifact_type, checksum, filename, mimeType, sizeBytes, ...metadata } = known;
  return {
    id: `${made.workflow_id}/${artifactType}/${made.ref}`,
    memoryId: made.workflow_id,
    workflowId: made.workflow_id,
    artifactType,
    storageUrl: made.ref,
    ref: made.ref,
    ...defined({ filename, mimeType, sizeBytes, checksum }),
    createdAt: made.created_at,
    metadata: metadata as JsonObject,
  };
}

const call = ({ signal, timeout, idempotencyKey }: CallOptions): CallOptions => ({ signal, timeout, idempotencyKey });
const userOf = (to: Transport, { userId = to.config.userId }: { userId?: string | undefined }) => userId;
const workflowIn = ({ workflowId, runId, memoryId }: WorkflowNames & { memoryId?: string | undefined }) => workflowId ?? runId ?? memoryId;
const defined = <T extends object>(fields: T): Partial<T> =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Partial<T>;

function workflowOf(names: WorkflowNames & { memoryId?: string | undefined }): string {
  const named = workflowIn(names);
  if (!named) throw new ValidationError("workflowId is missing", "workflowId", named);
  return named;
}

function at(names: WorkflowNames & { memoryId?: string | undefined }, what: string): string {
  return `workflows/${segment(workflowOf(names), "workflowId")}/${what}`;
}
