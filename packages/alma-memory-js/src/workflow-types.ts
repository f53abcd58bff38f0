import type { Answer, CallOptions, JsonObject, Response, RetrieveResponse, Schemas } from "./types.js";

/** Place in a workflow, as alma-memory published it. The workflow is `workflowId`, else `runId`. */
export interface WorkflowContext {
  tenantId?: string | undefined;
  workflowId?: string | undefined;
  runId?: string | undefined;
  nodeId?: string | undefined;
  branchId?: string | undefined;
}

/** Names of a workflow. One is needed. */
export interface WorkflowNames {
  workflowId?: string | undefined;
  /** Another name of `workflowId`. */
  runId?: string | undefined;
  userId?: string | undefined;
}

export interface CheckpointOptions extends WorkflowNames, CallOptions {
  state: JsonObject;
  metadata?: JsonObject | undefined;
  branch?: string | undefined;
  node?: string | undefined;
  name?: string | undefined;
  /** Another name of `node`. */
  nodeId?: string | undefined;
  /** Another name of `branch`. */
  branchId?: string | undefined;
}

export interface ResumeOptions extends WorkflowNames, CallOptions {
  branch?: string | undefined;
  node?: string | undefined;
  name?: string | undefined;
  branchId?: string | undefined;
  /** Id of the newest checkpoint. An older one cannot be resumed. */
  checkpointId?: string | undefined;
}

export interface MergeStatesOptions extends WorkflowNames, CallOptions {
  /** States to merge, or states by the names of their branches. Without them, the newest of `branchIds`. */
  states?: JsonObject[] | Record<string, JsonObject> | undefined;
  branchIds?: readonly string[] | undefined;
  /** Name of a reducer, or names by field. */
  reducer?: string | Record<string, string> | undefined;
  /** Another name of `reducer`. */
  reducers?: Record<string, string> | undefined;
}

export type WorkflowResult = Schemas["LearnWorkflow"]["result"];

export interface WorkflowLearnOptions extends WorkflowNames, CallOptions {
  context?: WorkflowContext | undefined;
  agent?: string | undefined;
  result: WorkflowResult;
  summary?: string | undefined;
  strategiesUsed?: string[] | undefined;
  taskType?: string | undefined;
  durationSeconds?: number | undefined;
  errorMessage?: string | undefined;
  metadata?: JsonObject | undefined;
  /** Kept in the metadata, as are `failedPatterns`, `nodeCount` and the rest of `context`. */
  successfulPatterns?: string[] | undefined;
  failedPatterns?: string[] | undefined;
  nodeCount?: number | undefined;
}

/** Types that alma-memory published, which are kept in the metadata of a document, and those of ALMA. */
export type ArtifactType =
  | ("file" | "image" | "log" | "report" | "data" | "other")
  | ("code" | "test" | "document" | "config" | "deployment")
  | (string & {});

export interface LinkArtifactOptions extends WorkflowNames, CallOptions {
  /** Another name of `workflowId`. */
  memoryId?: string | undefined;
  artifactType: ArtifactType;
  ref?: string | undefined;
  /** Another name of `ref`. */
  storageUrl?: string | undefined;
  /** `sha256:` and the digest in hexadecimal. Any other text is kept in the metadata. */
  checksum?: string | undefined;
  metadata?: JsonObject | undefined;
  filename?: string | undefined;
  mimeType?: string | undefined;
  sizeBytes?: number | undefined;
}

export interface GetArtifactsOptions extends WorkflowNames, CallOptions {
  memoryId?: string | undefined;
  artifactType?: ArtifactType | undefined;
}

export interface CleanupCheckpointsOptions extends WorkflowNames, CallOptions {
  /** Newest checkpoints of each branch that stay. By default 1. `keepLatest` is another name of it. */
  keep?: number | undefined;
  keepLatest?: number | undefined;
  /** Age in days from which checkpoints are erased. By default 7, and 0 with `runId`. */
  olderThanDays?: number | undefined;
  /** Not supported: checkpoints of one branch cannot be erased alone. */
  branchId?: string | undefined;
}

export type RetrievalScope = Schemas["RetrieveScoped"]["scope"] | "global" | "tenant" | "workflow" | "run" | "node" | "agent";

export interface RetrieveScopedOptions extends WorkflowNames, CallOptions {
  query: string;
  scope: RetrievalScope;
  context?: WorkflowContext | undefined;
  agent?: string | undefined;
  topK?: number | undefined;
  maxTokens?: number | undefined;
}

export interface ConsolidateOptions extends CallOptions {
  agent?: string | undefined;
  /** Least cosine of two memories that are compared; 0.85 by default. */
  similarityThreshold?: number | undefined;
  /** Accepted, and ignored: a group is two memories or more. */
  minGroupSize?: number | undefined;
  dryRun?: boolean | undefined;
}

/** Groups that became one memory, or would: of each the ids, the one that stays first. */
export interface ConsolidateResponse extends Answer<Schemas["Consolidated"]> {
  success: boolean;
}

export interface Checkpoint {
  /** Workflow and number: `nightly/3`. */
  id: string;
  runId: string;
  workflowId: string;
  nodeId: string | null;
  branchId: string;
  name: string | null;
  state: JsonObject;
  sequenceNumber: number;
  createdAt: string;
  metadata: JsonObject;
}

export interface ArtifactRef {
  /** Workflow, type and reference. */
  id: string;
  memoryId: string;
  workflowId: string;
  artifactType: ArtifactType;
  storageUrl: string;
  ref: string;
  filename?: string | undefined;
  mimeType?: string | undefined;
  sizeBytes?: number | undefined;
  checksum?: string | undefined;
  createdAt: string;
  metadata: JsonObject;
}

export interface CheckpointResponse extends Response {
  checkpointId: string;
  sequenceNumber: number;
  checkpoint: Checkpoint;
}
export interface ResumeResponse extends Response {
  /** `null` if there is none. */
  checkpoint: Checkpoint | null;
  state: JsonObject | null;
}
export interface MergeStatesResponse extends Response {
  mergedState: JsonObject;
  branchesMerged: number;
}
export interface WorkflowLearnResponse extends Response {
  outcomeId: string;
  outcome: Answer<Schemas["Outcome"]>;
}
export interface LinkArtifactResponse extends Response {
  artifact: ArtifactRef;
}
export interface GetArtifactsResponse extends Response {
  artifacts: ArtifactRef[];
}
export interface CleanupCheckpointsResponse extends Response {
  deleted: number;
  kept: number;
}
export interface RetrieveScopedResponse extends RetrieveResponse {
  scope: RetrievalScope;
}
