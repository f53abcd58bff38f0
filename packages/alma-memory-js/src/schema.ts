// Made from docs/reference/openapi.json by `npm run generate`. Do not edit.
export interface components {
    schemas: {
        /**
         * @description The rule that lets a reader see an owner's memories, or the one that hides them.
         * @enum {string}
         */
        Access: "own" | "shared" | "shared_with_all" | "inherited" | "own_preference" | "not_shared" | "left_out" | "shared_excluded" | "no_user" | "other_user";
        /**
         * @description Step of an attempt. `ok` left out is a step that was not judged.
         * @example {
         *       "action": "kubectl apply",
         *       "error": "ImagePullBackOff",
         *       "ok": false
         *     }
         */
        Act: {
            action: string;
            ok?: boolean | null;
            error?: string | null;
            output?: string | null;
            duration_ms?: number | null;
            tool?: string | null;
            feedback?: string | null;
        };
        /**
         * @description Known reasons why an action would fail. Warnings are ordered nearest first.
         *
         *     `elsewhere` are what the action matches as well, but what was learned on quite other tasks than the one asked about: to be known, not a warning.
         *     `hint` says what may be wrong where there is no warning: an agent with a similar name is known.
         */
        ActionCheck: {
            agent: string;
            action: string;
            warnings: components["schemas"]["ActionWarning"][];
            /** @default [] */
            elsewhere?: components["schemas"]["ActionWarning"][];
            hint?: string | null;
        };
        /**
         * @description An anti-pattern that an action matches. `similarity` is the cosine of the two. `record` is the row of the table that a learned one is,
         *     `None` for a stated one.
         */
        ActionWarning: {
            anti_pattern: components["schemas"]["AntiPattern"];
            similarity: number;
            summary: string;
            shared_from?: string | null;
            record?: components["schemas"]["StrategyRecord"] | null;
        };
        /** @description Way that fails, and why. */
        AddAntiPattern: {
            agent?: string | null;
            user_id?: string | null;
            /** @constant */
            kind: "anti_pattern";
            pattern: string;
            why_bad: string;
            better_alternative?: string | null;
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Conversation, or its newest messages. */
        AddConversation: {
            agent?: string | null;
            user_id?: string | null;
            /** @constant */
            kind: "conversation";
            session_id: string;
            messages: components["schemas"]["Message"][];
            at?: string | null;
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Strategy that a person or a program states. */
        AddHeuristic: {
            agent?: string | null;
            user_id?: string | null;
            /** @constant */
            kind: "heuristic";
            condition: string;
            strategy: string;
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Fact. */
        AddKnowledge: {
            agent?: string | null;
            user_id?: string | null;
            /** @constant */
            kind: "domain_knowledge";
            domain: string;
            fact: string;
            source?: string | null;
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Memory of a kind that was registered with the project, with its fields. */
        AddOwn: {
            agent?: string | null;
            user_id?: string | null;
            kind: string;
            fields: {
                [key: string]: unknown;
            };
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Preference of a user. */
        AddPreference: {
            agent?: string | null;
            user_id?: string | null;
            /** @constant */
            kind: "user_preference";
            category: string;
            preference: string;
            source?: string | null;
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Receiver of events. `users` is "none", "all", or the name of a user. */
        AddWebhook: {
            /** @example https://hooks.example.com/alma */
            url: string;
            events?: components["schemas"]["MemoryEventType"][];
            secret?: string | null;
            headers?: {
                [key: string]: string;
            };
            agents?: string[] | null;
            kinds?: string[] | null;
            /** @default none */
            users?: string;
            /**
             * @default thin
             * @enum {string}
             */
            payload?: "thin" | "full";
            /**
             * @default memory
             * @enum {string}
             */
            ordering?: "memory" | "strict" | "none";
            max_retries?: number | null;
            retry_delay?: number | null;
            retry_backoff?: number | null;
            timeout_seconds?: number | null;
            /** @default 1 */
            batch_size?: number;
            /** @default 1 */
            batch_delay?: number;
            since?: string | null;
        };
        /**
         * @description A way that fails, why, and a better one (`None` where none is known).
         *
         *     `occurrence_count` counts its failures, `success_count` its successes.
         */
        AntiPattern: {
            /**
             * @default anti_pattern
             * @constant
             */
            kind?: "anti_pattern";
            id?: string;
            /** @default  */
            agent?: string;
            user_id?: string | null;
            /** @default  */
            project_id?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /** @default 1 */
            confidence?: number;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            /** @default 1 */
            occurrence_count?: number;
            /** @default 0 */
            success_count?: number;
            pattern: string;
            why_bad: string;
            better_alternative?: string | null;
            /** Format: date-time */
            last_seen?: string;
        };
        /**
         * @description Result of one search: its raw score (a cosine, or a share of the best possible BM25), the mean and deviation of the background, `z
         *     = (score - mean) / deviation`, and the weight of z in the fusion.
         */
        ArmPart: {
            score: number;
            mean: number;
            deviation: number;
            z: number;
            weight: number;
        };
        /** @description A thing that a workflow produced, by reference. `checksum` is `sha256:` and 64 hexadecimal digits, if one is known. */
        Artifact: {
            workflow_id: string;
            artifact_type: string;
            ref: string;
            checksum?: string | null;
            metadata?: {
                [key: string]: unknown;
            };
            user_id?: string | null;
            /** Format: date-time */
            created_at: string;
        };
        /** @description Products of a workflow, oldest first. */
        Artifacts: {
            artifacts: components["schemas"]["Artifact"][];
        };
        /** @description Strategy to assess for a task, the `context`; without a strategy, the task itself. */
        Assess: {
            agent?: string | null;
            user_id?: string | null;
            context: string;
            strategy?: string | null;
            task_type?: string | null;
        };
        /**
         * @description The expected success of a strategy, or of any attempt, at a task, and how sure that is.
         *
         *     `confidence_score` is the expected rate of success, drawn towards that of all the agent's tasks where little is known; `interval` is
         *     its 95 % interval. `trials` and `successes` of a strategy are those of its row in `strategies`; without a strategy they are those of all
         *     that was tried on such tasks. Where nothing was tried, the `verdict` is "unknown" and the score a half; `hint` then says whether an agent
         *     with a similar name is known.
         */
        Assessment: {
            agent: string;
            strategy: string | null;
            context: string;
            confidence_score: number;
            interval: components["schemas"]["Range"];
            trials: number;
            successes: number;
            verdict: components["schemas"]["Judgement"];
            recommendation: string;
            summary: string;
            /** @default [] */
            records?: components["schemas"]["StrategyRecord"][];
            hint?: string | null;
        };
        /**
         * @description Attempt at a task.
         * @example {
         *       "agent": "backend-dev",
         *       "task": "Deploy auth service"
         *     }
         */
        Begin: {
            agent?: string | null;
            user_id?: string | null;
            task: string;
            task_type?: string | null;
            episode_id?: string | null;
            run_id?: string | null;
            thread_id?: string | null;
            /** @default 5 */
            top_k?: number;
            /** @default 2000 */
            max_tokens?: number;
        };
        /** @description Episode that was begun, and what is shown for its task. */
        Begun: {
            episode: components["schemas"]["EpisodeRecord"];
            memories: components["schemas"]["Found"][];
            prompt: string;
            hint: string | null;
        };
        /** @description Settings to change. What is left out stays. */
        ChangeWebhook: {
            url?: string | null;
            events?: components["schemas"]["MemoryEventType"][] | null;
            headers?: {
                [key: string]: string;
            } | null;
            agents?: string[] | null;
            kinds?: string[] | null;
            payload?: ("thin" | "full") | null;
            ordering?: ("memory" | "strict" | "none") | null;
            timeout_seconds?: number | null;
            is_enabled?: boolean | null;
        };
        /**
         * @description Action to check before it is done.
         * @example {
         *       "action": "sleep(5000)",
         *       "agent": "qa_tester"
         *     }
         */
        Check: {
            agent?: string | null;
            user_id?: string | null;
            action: string;
            task?: string | null;
            task_type?: string | null;
        };
        /** @description The state of a workflow at one moment. `number` counts the checkpoints of the workflow, from 1. */
        Checkpoint: {
            workflow_id: string;
            number: number;
            state: {
                [key: string]: unknown;
            };
            metadata?: {
                [key: string]: unknown;
            };
            /** @default main */
            branch?: string;
            node?: string | null;
            name?: string | null;
            user_id?: string | null;
            /** Format: date-time */
            created_at: string;
        };
        /** @description Number of checkpoints that were erased. */
        Cleaned: {
            erased: number;
        };
        /** @description One-time code of `alma ui`. */
        Code: {
            code: string;
        };
        /** @description Memories of an agent to compare, of one kind or of all. Nothing is merged unless `dry_run` is false. */
        Consolidate: {
            agent?: string | null;
            kind?: string | null;
            /**
             * @description Least cosine of two memories that are compared.
             * @default 0.85
             */
            threshold?: number;
            /** @default true */
            dry_run?: boolean;
        };
        /**
         * @description Memories that became one, or would: of each group the ids, the one that stays first.
         *
         *     `unsure` are pairs that a person may judge, the nearest 100. `seq` is the journal record; undoing to the one before takes it back.
         */
        Consolidated: {
            dry_run: boolean;
            memories_processed: number;
            merged_count: number;
            merged: string[][];
            unsure: string[][];
            seq: number | null;
        };
        /**
         * @description Two facts of one agent, or two preferences of one user, that contradict each other: the ids and short forms of both.
         *
         *     `sort` says how: one is a "denial" of the other, they say the "opposite", or state another "value". `preferred_value` and `other_value`
         *     are the words that differ. `why` says what the preferred one is: "newer", "better sourced", "surer" (of more confidence), or
         *     "uncontradicted" (a better memory contradicts the other one, too). `is_left_out` says that the other one is not in the slice
         *     (`retrieve(verified=True)`).
         */
        Contradiction: {
            preferred_id: string;
            other_id: string;
            preferred: string;
            other: string;
            /** @enum {string} */
            sort: "denial" | "opposite" | "value";
            /** @default  */
            preferred_value?: string;
            /** @default  */
            other_value?: string;
            /** @enum {string} */
            why: "newer" | "better sourced" | "surer" | "uncontradicted";
            /** @default false */
            is_left_out?: boolean;
        };
        /** @description A conversation, searched by its sentences. `session_id` is the caller's name for it, `held_at` when it took place. */
        Conversation: {
            /**
             * @default conversation
             * @constant
             */
            kind?: "conversation";
            id?: string;
            /** @default  */
            agent?: string;
            user_id?: string | null;
            /** @default  */
            project_id?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /** @default 1 */
            confidence?: number;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            session_id: string;
            turns: components["schemas"]["Turn"][];
            /** Format: date-time */
            held_at?: string;
        };
        /**
         * @description Content of a project in numbers, as `alma.types.reports.Stats` has it. `learned_rules` of the `total` follow from outcomes and are not
         *     stored. `database_bytes` is `None` for a token that reads a part only.
         */
        Counts: {
            project_id: string;
            total: number;
            learned_rules: number;
            by_kind: {
                [key: string]: number;
            };
            by_agent: {
                [key: string]: {
                    [key: string]: number;
                };
            };
            journal_records: number;
            database_bytes: number | null;
            embedder: string;
            oldest: string | null;
            newest: string | null;
        };
        /**
         * @description A memory of a kind that a user defined. Its `fields` can be read as attributes too: `memory.title`.
         *
         *     `definition` is the kind's definition, so that the value can be read anywhere. An optional field that was left out is `None`.
         */
        CustomMemory: {
            kind: string;
            id?: string;
            /** @default  */
            agent?: string;
            user_id?: string | null;
            /** @default  */
            project_id?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /** @default 1 */
            confidence?: number;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            fields: {
                [key: string]: unknown;
            };
            definition: components["schemas"]["CustomMemoryType"];
        };
        /**
         * @description Definition of a kind.
         *
         *     `fields` maps names to types (`str`, `int`, `float`, `bool`, `datetime`, `date`, `Any`, `list` and `dict` of them); an optional field
         *     is `… | None`. A pydantic class with such fields can be given in its place: its fields are taken, its own validators are not. As JSON,
         *     a field is its JSON schema. `embedding_fields` are embedded and searched; texts in other fields are found by their words.
         *     `scoring_weights` weigh the factors similarity (also called relevance), recency, success and confidence for this kind.
         *     `alma.ValidationError` states what is wrong with a definition.
         */
        CustomMemoryType: {
            name: string;
            fields: {
                [key: string]: unknown;
            };
            embedding_fields: string[];
            scoring_weights?: {
                [key: string]: number;
            } | null;
        };
        /**
         * @description Memories that were made on one day (UTC), by kind, and results of its outcomes.
         *
         *     Of the outcomes, `judged` have a verdict; a partial success counts half in `successes`. `interval` is that of their share at 95 %, `None`
         *     without a verdict. `formed` counts the rules whose last necessary outcome is of this day, as far as they are among the 200 rules with the
         *     newest outcomes.
         */
        DayView: {
            /** Format: date */
            day: string;
            by_kind: {
                [key: string]: number;
            };
            judged: number;
            successes: number;
            interval: components["schemas"]["Range"] | null;
            formed: number;
        };
        /** @description Deliveries, the newest first. */
        Deliveries: {
            deliveries: components["schemas"]["ShownDelivery"][];
        };
        /** @description A fact. */
        DomainKnowledge: {
            /**
             * @default domain_knowledge
             * @constant
             */
            kind?: "domain_knowledge";
            id?: string;
            /** @default  */
            agent?: string;
            user_id?: string | null;
            /** @default  */
            project_id?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /** @default 1 */
            confidence?: number;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            domain: string;
            fact: string;
            /** @default user_stated */
            source?: string;
            /** Format: date-time */
            last_verified?: string;
        };
        /**
         * @description New texts of a stated memory: those of its kind, or the `fields` of a registered kind. Others stay as they are.
         * @example {
         *       "fact": "The token lives 15 minutes"
         *     }
         */
        Edit: {
            category?: string | null;
            preference?: string | null;
            domain?: string | null;
            fact?: string | null;
            source?: string | null;
            pattern?: string | null;
            why_bad?: string | null;
            better_alternative?: string | null;
            condition?: string | null;
            strategy?: string | null;
            fields?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description End of an attempt. An `outcome` that is null abandons it. */
        End: {
            /** @default unverified */
            outcome?: ("success" | "failure" | "partial" | "unverified") | boolean | null;
            strategy?: string | null;
            error?: string | null;
            feedback?: string | null;
            used_memory_ids?: string[] | null;
        };
        /** @description Entity of a graph. `properties` have its other names as `aliases`. */
        EntityAnswer: {
            id: string;
            name: string;
            entity_type: string;
            properties: {
                [key: string]: unknown;
            };
            /** Format: date-time */
            created_at: string;
        };
        /** @description Entities by name. */
        EntityList: {
            entities: components["schemas"]["EntityAnswer"][];
        };
        /**
         * @description A stored episode.
         *
         *     `run_id` and `thread_id` are the caller's own: a run may have several episodes, say one per agent. Both are `None` where none was
         *     given. `verdict_source` says who judged. It is `None` where this was not given, and in records from before ALMA had this field; the
         *     memory then has "caller". `reason` is the argument of `settle` or `abandon`. `used` has all ids that were cited or named, `None` if
         *     neither happened; `credited` has those of them whose use was counted, and to these the outcome is credited. `outcome_id` names the
         *     memory of the outcome. `forecast` is computed when an ended, unjudged episode is read, and never stored; it is `None` for any other
         *     episode, and where too few of the agent's episodes were judged.
         */
        EpisodeRecord: {
            id: string;
            project_id: string;
            agent: string;
            task: string;
            task_type?: string | null;
            user_id?: string | null;
            run_id?: string | null;
            thread_id?: string | null;
            /** @default open */
            status?: components["schemas"]["EpisodeStatus"];
            outcome?: components["schemas"]["Verdict"] | null;
            verdict_source?: components["schemas"]["VerdictSource"] | null;
            strategy?: string | null;
            error?: string | null;
            feedback?: string | null;
            reason?: string | null;
            /** Format: date-time */
            started_at: string;
            ended_at?: string | null;
            settled_at?: string | null;
            used?: string[] | null;
            /** @default [] */
            credited?: string[];
            outcome_id?: string | null;
            /** @default [] */
            shown?: components["schemas"]["Exposure"][];
            /** @default [] */
            steps?: components["schemas"]["Step"][];
            forecast?: components["schemas"]["Forecast"] | null;
        };
        /**
         * @description State of an episode. `abandoned`: left without a verdict by cancellation or by `abandon()`, or silent since its lease expired.
         * @enum {string}
         */
        EpisodeStatus: "open" | "ended" | "abandoned";
        /** @description Events in the order of the journal, and the position to ask for the next ones after. */
        EventPage: {
            events: {
                [key: string]: unknown;
            }[];
            next: string;
        };
        /**
         * @description Every number behind one memory's place in an answer.
         *
         *     `arms` holds the searches that were used ("dense", "text"). `z` is the weighted mean of theirs plus `time`, the gain of a memory that
         *     happened at the time that the question names; `similarity` is its logistic. The score is `usefulness` times the sum of the factors'
         *     products. `cosine` is pooled over the memory's passages, `share` is 0 where no word matched. `words` are the question's words that
         *     occur in the memory. `folded` are ids of equal memories that this one represents, at most 20; `copies` counts all, itself included.
         *     `rank` counts from 1 through the whole answer, `rank_of_kind` through its kind; both are `None` for a memory that was not returned.
         *     `access` is the rule that lets the reader see it. `provenance` says where the memory
         *     comes from.
         */
        Explanation: {
            access: components["schemas"]["Access"];
            cosine: number;
            share: number;
            passage: components["schemas"]["PassagePart"] | null;
            words: string[];
            arms: {
                [key: string]: components["schemas"]["ArmPart"];
            };
            z: number;
            similarity: number;
            factors: {
                [key: string]: components["schemas"]["FactorPart"];
            };
            usefulness: number;
            score: number;
            rank: number | null;
            rank_of_kind: number | null;
            copies: number;
            folded: string[];
            /** @default 0 */
            time?: number;
            provenance?: components["schemas"]["MemoryProvenance"] | null;
        };
        /** @description Content to export: all, or that of one agent or one user. */
        Export: {
            agent?: string | null;
            user_id?: string | null;
            /** @default false */
            vectors?: boolean;
        };
        /**
         * @description Records that a memory was shown: at which rank (1 is first) with which score, by which policy and with which probability.
         *
         *     `used` is `None` as long as it is unknown: nothing was cited and no list of used memories was given.
         */
        Exposure: {
            memory_id: string;
            tag: string;
            rank: number;
            score: number;
            /** @default rank */
            policy?: string;
            /** @default 1 */
            probability?: number;
            used?: boolean | null;
        };
        /** @description Contribution of one factor to a score: its value in [0, 1] times its weight. */
        FactorPart: {
            value: number;
            weight: number;
            product: number;
        };
        /**
         * @description The parts of a score, each in [0, 1], their weights, which add up to 1, and the multiplier for measured usefulness.
         *
         *     `score = usefulness * sum(weights[f] * f)` over similarity, recency, success and confidence.
         */
        Factors: {
            similarity: number;
            recency: number;
            success: number;
            confidence: number;
            /** @default 1 */
            usefulness?: number;
            weights: {
                [key: string]: number;
            };
        };
        /** @description Signal about one memory. */
        Feedback: {
            agent?: string | null;
            user_id?: string | null;
            memory_id: string;
            signal: components["schemas"]["FeedbackSignal"];
        };
        /** @description Result of `record_feedback`. `unknown` are ids of no memory that the agent can see: nothing was counted for them. */
        FeedbackReport: {
            counted: string[];
            unknown: string[];
        };
        /**
         * @description Feedback of a person or an agent on a memory that it was shown.
         * @enum {string}
         */
        FeedbackSignal: "used" | "ignored" | "thumbs_up" | "thumbs_down";
        /** @description Thresholds of relevance: a memory must reach one of the two. */
        Floor: {
            cosine: number;
            share: number;
        };
        /**
         * @description Probability that an attempt is judged a success, forecast from its steps: the `rate`, and its 95 % interval.
         *
         *     `judged` is the number of the agent's judged episodes behind it. A forecast is no verdict: nothing is learned from it.
         */
        Forecast: {
            rate: number;
            lower: number;
            upper: number;
            judged: number;
        };
        /**
         * @description Memories to archive: those of `memory_ids`, or those that the limits select. Nothing is done unless `dry_run` is false.
         *
         *     `purge` erases those of `memory_ids` for good. More than 100 of them need the `confirmation` of a dry run.
         */
        Forget: {
            agent?: string | null;
            user_id?: string | null;
            memory_ids?: string[] | null;
            older_than_days?: number | null;
            below_confidence?: number | null;
            /** @default false */
            purge?: boolean;
            confirmation?: string | null;
            /** @default true */
            dry_run?: boolean;
        };
        /** @description Nothing is erased unless `dry_run` is false. */
        ForgetUser: {
            /** @default true */
            dry_run?: boolean;
        };
        /**
         * @description Memories that were archived or erased, or would be.
         *
         *     `unknown` are ids of no memory that this token may forget. `seqs` are the journal records of the call. `receipts` list every surface that an
         *     erased memory was on. `confirmation` confirms the erasure of more than 100 memories.
         */
        Forgotten: {
            dry_run: boolean;
            total: number;
            by_kind: {
                [key: string]: number;
            };
            memory_ids: string[];
            unknown: string[];
            seqs: number[];
            receipts: components["schemas"]["PurgeReceipt"][];
            confirmation?: string | null;
        };
        /**
         * @description Memory of an answer, with the tag by which the notes cite it, its score and the factors of that. `copies` counts the equal memories that
         *     it represents. `explanation` has every number behind the score, where the request asks for it; a learned
         *     rule has none.
         */
        Found: {
            tag: string;
            score: number;
            factors: components["schemas"]["Factors"];
            copies: number;
            memory: components["schemas"]["Heuristic"] | components["schemas"]["Outcome"] | components["schemas"]["UserPreference"] | components["schemas"]["DomainKnowledge"] | components["schemas"]["AntiPattern"] | components["schemas"]["Conversation"] | components["schemas"]["CustomMemory"];
            explanation?: components["schemas"]["Explanation"] | null;
        };
        /** @description Whether a project has a graph. It has none without the package alma-graph, nor before anything was read or stated. */
        GraphState: {
            available: boolean;
        };
        /** @description A strategy that works under a condition, with its record. */
        Heuristic: {
            /**
             * @default heuristic
             * @constant
             */
            kind?: "heuristic";
            id?: string;
            /** @default  */
            agent?: string;
            user_id?: string | null;
            /** @default  */
            project_id?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /** @default 1 */
            confidence?: number;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            /** @default 0 */
            occurrence_count?: number;
            /** @default 0 */
            success_count?: number;
            condition: string;
            strategy: string;
            /** Format: date-time */
            last_validated?: string;
        };
        /**
         * @description The effect of one call on a memory.
         *
         *     `what` is "made", "changed", "used", "archived", "brought back" or "removed". `changed` has the fields by name; those of its usage and
         *     passages as "usage.used" or "passage 0.text". `episode_id` is set on the entry that made the memory: the attempt that it was
         *     learned in.
         */
        HistoryEntry: {
            seq: number;
            /** Format: date-time */
            at: string;
            actor: string;
            operation: string;
            what: string;
            changed: {
                [key: string]: components["schemas"]["Revision"];
            };
            episode_id?: string | null;
        };
        /** @description Work in the background. `done` of `total` steps are done; `total` is 0 until it is known. `result` is the report of ended work. */
        Job: {
            id: string;
            sort: string;
            /** @enum {string} */
            status: "waiting" | "running" | "done" | "failed";
            done: number;
            total: number;
            result?: {
                [key: string]: unknown;
            } | null;
            problem?: string | null;
        };
        /** @description Journal records in order. `after` is where the next page begins; it is null at the end. */
        Journal: {
            records: components["schemas"]["JournalLine"][];
            head: number;
            after: number | null;
        };
        /** @description One journal record, without its changes. */
        JournalLine: {
            seq: number;
            /** Format: date-time */
            at: string;
            actor: string;
            operation: string;
            is_purged: boolean;
        };
        /** @description Verdict of a person on two memories that may say the same. */
        JudgePair: {
            memory_ids: string[];
            /** @enum {string} */
            verdict: "merge" | "keep";
        };
        /** @description Journal record of a verdict on a pair. */
        JudgedPair: {
            seq: number;
        };
        /**
         * @description Summary of the record of a strategy, in a word or two.
         * @enum {string}
         */
        Judgement: "works" | "seems to work" | "undecided" | "seems to fail" | "fails" | "unknown";
        /** @description Kinds of memory: those that every project has, and those that were registered with this one. */
        Kinds: {
            built_in: components["schemas"]["MemoryType"][];
            registered: {
                [key: string]: components["schemas"]["CustomMemoryType"];
            };
        };
        /**
         * @description Outcome of a task. The token says who judged it.
         * @example {
         *       "agent": "helena",
         *       "outcome": "success",
         *       "strategy_used": "Tested empty fields, invalid email, valid submission",
         *       "task": "Test login form"
         *     }
         */
        Learn: {
            agent?: string | null;
            user_id?: string | null;
            task: string;
            outcome: ("success" | "failure" | "partial" | "unverified") | boolean;
            strategy_used?: string | null;
            task_type?: string | null;
            task_id?: string | null;
            difficulty?: string | null;
            duration_ms?: number | null;
            error_message?: string | null;
            feedback?: string | null;
            metadata?: {
                [key: string]: unknown;
            } | null;
            timestamp?: string | null;
        };
        /** @description Outcomes that are stored in one transaction, all or none. */
        LearnBatch: {
            items: components["schemas"]["Learn"][];
        };
        /** @description Result of a whole workflow. */
        LearnWorkflow: {
            agent?: string | null;
            user_id?: string | null;
            /** @enum {string} */
            result: "success" | "failure" | "partial" | "timeout" | "cancelled";
            summary: string;
            strategies_used?: string[];
            task_type?: string | null;
            duration_seconds?: number | null;
            error_message?: string | null;
            metadata?: {
                [key: string]: unknown;
            } | null;
        };
        /** @description Outcomes that were stored, in the order of the request. */
        Learned: {
            outcomes: components["schemas"]["Outcome"][];
        };
        /** @description Product of a workflow, by reference: a path, a URL or an id, which is never opened. */
        LinkArtifact: {
            artifact_type: string;
            ref: string;
            checksum?: string | null;
            metadata?: {
                [key: string]: unknown;
            } | null;
            user_id?: string | null;
        };
        /** @description Token that was made. Its secret is shown only now. */
        MadeToken: {
            secret: string;
            token: components["schemas"]["ShownToken"];
        };
        /** @description Memories. */
        Memories: {
            memories: (components["schemas"]["Heuristic"] | components["schemas"]["Outcome"] | components["schemas"]["UserPreference"] | components["schemas"]["DomainKnowledge"] | components["schemas"]["AntiPattern"] | components["schemas"]["Conversation"] | components["schemas"]["CustomMemory"])[];
        };
        /**
         * @description Types of events, named as published. Those of the last group are names alone: nothing here emits them.
         * @enum {string}
         */
        MemoryEventType: "memory.created" | "memory.updated" | "memory.deleted" | "memory.consolidated" | "memory.accessed" | "memory.restored" | "memory.quarantined" | "memory.released" | "memory.purged" | "heuristic.formed" | "antipattern.detected" | "rule.promoted" | "rule.demoted" | "rule.reworded" | "confidence.updated" | "preference.added" | "knowledge.added" | "outcome.settled" | "feedback.recorded" | "usage.recorded" | "episode.started" | "episode.ended" | "user.forgotten" | "workflow.checkpoint" | "import.completed" | "journal.undone" | "gap" | "webhook.test" | "webhook.disabled" | "confidence.decayed" | "metrics.completed" | "rag.retrieved" | "rag.enhanced";
        /**
         * @description Where a memory comes from. A field is `None`, or empty, where it is not known or does not apply.
         *
         *     `source` is that of a fact or a preference, `verdict_source` says who judged an outcome. `learned_from` counts who judged the newest 100
         *     outcomes behind a learned rule. `episode_id`, `step` and `run_id` name the attempt. `session_id`, `tool` and `document` are those of the
         *     attempt or the conversation, or what the metadata of the memory says under these names. `imported_from` has what an import noted.
         */
        MemoryProvenance: {
            memory_id: string;
            kind: string;
            agent: string;
            user_id?: string | null;
            /** Format: date-time */
            recorded_at: string;
            /** Format: date-time */
            seen_at: string;
            source?: string | null;
            verdict_source?: components["schemas"]["VerdictSource"] | null;
            /** @default false */
            is_learned?: boolean;
            learned_from?: {
                [key: string]: number;
            };
            session_id?: string | null;
            run_id?: string | null;
            episode_id?: string | null;
            step?: number | null;
            tool?: string | null;
            document?: string | null;
            imported_from?: string | null;
            flagged?: string | null;
        };
        /**
         * @description The built-in kinds of memory.
         * @enum {string}
         */
        MemoryType: "heuristic" | "outcome" | "user_preference" | "domain_knowledge" | "anti_pattern" | "conversation";
        /** @description States to merge, oldest first; the newest of each branch if left out. */
        Merge: {
            states?: {
                [key: string]: unknown;
            }[] | {
                [key: string]: {
                    [key: string]: unknown;
                };
            } | null;
            /** @default latest_wins */
            reducer?: string | {
                [key: string]: string;
            };
            user_id?: string | null;
        };
        /** @description State made of several. */
        Merged: {
            state: {
                [key: string]: unknown;
            };
        };
        /** @description Message of a conversation. */
        Message: {
            role: string;
            content: string;
        };
        /** @description Names in order. */
        Names: {
            names: string[];
        };
        /** @description Token to make. The projects and the rights are those of the token that asks, where they are left out. */
        NewToken: {
            name: string;
            /** @default * */
            agent?: string;
            /**
             * @description A user, * for any, or empty for none.
             * @default *
             */
            user_id?: string;
            projects?: string[] | null;
            rights?: string[] | null;
            /** @default agent */
            source?: string;
            expires?: string | null;
        };
        /** @description Text of an agent, in which the tags of notes are found. */
        Observe: {
            text: string;
        };
        /** @description Ids of the memories that a text cites. */
        Observed: {
            memory_ids: string[];
        };
        /**
         * @description The result of one task or step.
         *
         *     `task_id` identifies the task where its words do not; `difficulty` is its known difficulty; `verdict_source` says who judged.
         *     `success=True` or `success=False` may be given in place of `outcome`.
         */
        Outcome: {
            /**
             * @default outcome
             * @constant
             */
            kind?: "outcome";
            id?: string;
            /** @default  */
            agent?: string;
            user_id?: string | null;
            /** @default  */
            project_id?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /** @default 1 */
            confidence?: number;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            task_type?: string | null;
            task_id?: string | null;
            difficulty?: string | null;
            /** @default caller */
            verdict_source?: components["schemas"]["VerdictSource"];
            task_description: string;
            /** @default unverified */
            outcome?: components["schemas"]["Verdict"];
            /** @default  */
            strategy_used?: string;
            duration_ms?: number | null;
            error_message?: string | null;
            user_feedback?: string | null;
            /** Format: date-time */
            timestamp?: string;
        };
        /** @description Page of a list. `next` is the cursor of the next page, null on the last one. `total` is counted on request. */
        Page: {
            memories: (components["schemas"]["Heuristic"] | components["schemas"]["Outcome"] | components["schemas"]["UserPreference"] | components["schemas"]["DomainKnowledge"] | components["schemas"]["AntiPattern"] | components["schemas"]["Conversation"] | components["schemas"]["CustomMemory"])[];
            next: string | null;
            total?: number | null;
        };
        /** @description What is known of an entity, as lines of text. `left_out` counts the relations and sentences for which there was no room. */
        PageOfEntity: {
            entity: components["schemas"]["EntityAnswer"];
            page: string;
            left_out: number;
        };
        /** @description The passage of a memory that is nearest to the question, at most 800 characters of it, and its cosine. */
        PassagePart: {
            text: string;
            speaker: string;
            position: number;
            cosine: number;
        };
        /**
         * @description Result of a purge. `left` names rows of other agents or memories that name a purged memory, contain a text of it or count it. Purge
         *     or change them where needed.
         */
        PurgeReceipt: {
            seq: number;
            surfaces: components["schemas"]["Surface"][];
            left: string[];
        };
        /** @description Question to the self-model and the memories. */
        QueryMemory: {
            agent?: string | null;
            user_id?: string | null;
            query: string;
            /** @default 10 */
            top_k?: number;
        };
        /** @description Interval of a number at 95 %. */
        Range: {
            lower: number;
            upper: number;
        };
        /**
         * @description Why a memory is in an answer, or the first filter that excluded it, in the order in which filters are applied.
         * @enum {string}
         */
        Reason: "selected" | "unknown" | "other_project" | "scope" | "archived" | "outside_times" | "overruled" | "below_floor" | "not_a_candidate" | "folded" | "not_a_contender" | "contradicted" | "below_last";
        /**
         * @description Relation to state. Without `valid_from` it begins with the newest memory of its `evidence`, else now.
         * @example {
         *       "agent": "helena",
         *       "source": "Ann",
         *       "target": "Acme",
         *       "type": "works_for"
         *     }
         */
        Relate: {
            agent?: string | null;
            user_id?: string | null;
            source: string;
            type: string;
            target: string;
            valid_from?: string | null;
            valid_to?: string | null;
            /** @default [] */
            evidence?: string[];
            source_type?: string | null;
            target_type?: string | null;
            /** @default false */
            replaces?: boolean;
            /** @default 1 */
            confidence?: number;
            properties?: {
                [key: string]: unknown;
            } | null;
        };
        /**
         * @description Relation of two entities. `valid_from` and `valid_to` say when it held in the world; `null` is open. `properties` have the names of both
         *     ends, `source` and `target`, and the memories behind it, `evidence`.
         */
        RelationAnswer: {
            id: string;
            source_id: string;
            target_id: string;
            relation_type: string;
            properties: {
                [key: string]: unknown;
            };
            confidence: number;
            /** Format: date-time */
            created_at: string;
            valid_from: string | null;
            valid_to: string | null;
        };
        /** @description Relations in the order of the request. */
        RelationList: {
            relations: components["schemas"]["RelationAnswer"][];
        };
        /** @description Memories in quarantine that a person has read. */
        Release: {
            memory_ids: string[];
        };
        /** @description Ids of the memories that left the quarantine. */
        Released: {
            memory_ids: string[];
        };
        /** @description Position after which all events are delivered once more. */
        Replay: {
            /** @example 4711 */
            since: string;
        };
        /**
         * @description Explains why `retrieve` returns one memory for a question, or why not.
         *
         *     `reason` names the first filter that excluded it; `text` says so with its numbers and with what would include it. `access` is the rule
         *     between the reader and the memory (`None` where there is no memory). `explanation` has the numbers where the memory could be scored.
         *     `score_needed` is the score of the last one of its kind; `top_k_needed` is a `top_k` that returns it (the least, in a scope of at most
         *     2,000 memories), `None` where none does. `stands_for_it` is the id of the memory of equal content that it was folded into, or of the one that
         *     contradicts it. `agent` is
         *     the reader; `is_owners_view` says that none was named, so that the memory's own owner was taken.
         */
        RetrievalExplanation: {
            query: string;
            memory_id: string;
            agent: string | null;
            user_id: string | null;
            top_k: number;
            is_owners_view: boolean;
            reason: components["schemas"]["Reason"];
            text: string;
            access?: components["schemas"]["Access"] | null;
            explanation?: components["schemas"]["Explanation"] | null;
            floor?: components["schemas"]["Floor"] | null;
            score_needed?: number | null;
            top_k_needed?: number | null;
            stands_for_it?: string | null;
        };
        /**
         * @description Question to a memory, as `task` or `query`.
         * @example {
         *       "agent": "backend-dev",
         *       "task": "Deploy auth service",
         *       "top_k": 5
         *     }
         */
        Retrieve: {
            agent?: string | null;
            user_id?: string | null;
            task?: string | null;
            query?: string | null;
            task_type?: string | null;
            /** @default 5 */
            top_k?: number;
            profile?: "recall" | null;
            /** @default true */
            include_shared?: boolean;
            /** @default false */
            verified?: boolean;
            since?: string | null;
            until?: string | null;
            as_of?: string | null;
            /**
             * @description State every number behind each score.
             * @default false
             */
            explain?: boolean;
            /** @default 2000 */
            max_tokens?: number;
            /**
             * @description Answer 409 if the journal has no such record yet.
             * @default 0
             */
            min_seq?: number;
        };
        /** @description Question to what is known of one workflow, of the agent alone, or of all that it may read. */
        RetrieveScoped: {
            agent?: string | null;
            user_id?: string | null;
            query: string;
            /** @enum {string} */
            scope: "workflow_only" | "agent_only" | "project_wide";
            /** @default 5 */
            top_k?: number;
            /** @default 2000 */
            max_tokens?: number;
        };
        /**
         * @description Memories for a task, best first, and the notes to show an agent.
         *
         *     `ids` are those of the memories in rank order. `seq` is the newest journal record at the time of the answer.
         */
        Retrieved: {
            memories: components["schemas"]["Found"][];
            strategies: components["schemas"]["StrategyRecord"][];
            contradictions: components["schemas"]["Contradiction"][];
            prompt: string;
            ids: string[];
            total_items: number;
            hint: string | null;
            relevance: number | null;
            retrieval_time_ms: number;
            seq: number;
        };
        /**
         * @description An episode to judge, and the forecast, made without its own verdict; `None` where too few episodes of the agent were judged.
         *
         *     `priority` orders a list, highest first. For an unjudged episode it is the highest probability, within the interval, that its verdict
         *     differs from the forecast; for a surprising one it is the distance of the verdict from the forecast.
         */
        ReviewItem: {
            episode: components["schemas"]["EpisodeRecord"];
            forecast: components["schemas"]["Forecast"] | null;
            priority: number;
        };
        /**
         * @description Episodes that a person should judge first: unjudged ones, and those whose verdict differs from the forecast.
         *
         *     The counts are of all that were found; the lists have at most `limit` each.
         */
        ReviewReport: {
            unjudged: components["schemas"]["ReviewItem"][];
            surprising: components["schemas"]["ReviewItem"][];
            unjudged_count: number;
            surprising_count: number;
        };
        /** @description Values of a column before and after a call; `None` where it held nothing. */
        Revision: {
            old?: unknown;
            new?: unknown;
        };
        /** @description State of a workflow, at most 1 MiB as JSON. */
        SaveState: {
            state: {
                [key: string]: unknown;
            };
            metadata?: {
                [key: string]: unknown;
            } | null;
            /** @default main */
            branch?: string;
            node?: string | null;
            name?: string | null;
            user_id?: string | null;
        };
        /** @description Self-model of a user, or of an agent that works for none. */
        SelfModelAnswer: {
            nodes: components["schemas"]["SelfModelNode"][];
            links: components["schemas"]["SelfModelLink"][];
        };
        /** @description Attribute of a node: its value, who said it and when, and the values before, newest first. */
        SelfModelFact: {
            value: string;
            by: string;
            /** Format: date-time */
            at: string;
            former: string[];
        };
        /** @description Directed relation between two nodes, each named `Type:name`. */
        SelfModelLink: {
            source: string;
            relation: string;
            target: string;
            by: string;
            /** Format: date-time */
            at: string;
        };
        /** @description Node of a self-model. A preference has the id of its memory. */
        SelfModelNode: {
            type: string;
            name: string;
            facts: {
                [key: string]: components["schemas"]["SelfModelFact"];
            };
            memory_id: string | null;
        };
        /** @description What is known to a question: lines of the self-model, and memories as notes. */
        SelfModelNotes: {
            lines: string[];
            prompt: string;
        };
        /** @description Token of a session of the page. Its secret is shown only now. */
        Session: {
            token: string;
            name: string;
            /** Format: date-time */
            expires: string;
        };
        /** @description Verdict of an episode, or of all episodes of a run, that have ended. */
        Settle: {
            agent?: string | null;
            user_id?: string | null;
            outcome: ("success" | "failure" | "partial" | "unverified") | boolean;
            episode_id?: string | null;
            run_id?: string | null;
            reason?: string | null;
        };
        /** @description Episodes whose verdict was set. */
        Settled: {
            episodes: components["schemas"]["EpisodeRecord"][];
        };
        /** @description How the delivery of one event stands. */
        ShownDelivery: {
            event_id: string;
            event_type: string;
            position: string;
            status: components["schemas"]["WebhookDeliveryStatus"];
            attempts: number;
            last_error: string | null;
            status_code: number | null;
            duration_ms: number | null;
            last_attempt: string | null;
            next_attempt: string | null;
        };
        /** @description Token, without its secret. */
        ShownToken: {
            name: string;
            agent: string;
            user_id: string;
            projects: string[];
            rights: string[];
            source: string;
            expires: string | null;
            last_used: string | null;
        };
        /** @description Receiver, without its secret and the values of its headers. `secret` is that which was just made. */
        ShownWebhook: {
            id: string;
            url: string;
            state: string;
            reason: string;
            /** Format: date-time */
            created: string;
            position: string;
            events: string[];
            headers: string[];
            agents: string[];
            kinds: string[];
            users: string;
            payload: string;
            ordering: string;
            deliveries: {
                [key: string]: number;
            };
            secret?: string | null;
        };
        /** @description State of the server. */
        Status: {
            status: string;
        };
        /**
         * @description One action of an attempt. `tool` names what performed it, so that steps which try the same can be recognised.
         *
         *     `ok` is `None` for an unjudged step; `feedback` is a remark on it, for its memory; `used` has the ids that were cited or named since the
         *     step before; `memory_id` names the memory that was made of it, if any.
         */
        Step: {
            number: number;
            action: string;
            tool: string;
            ok?: boolean | null;
            error?: string | null;
            output?: string | null;
            duration_ms?: number | null;
            feedback?: string | null;
            used?: string[] | null;
            /** Format: date-time */
            at: string;
            memory_id?: string | null;
        };
        /** @description One fault: where it is, what it is, and how to fix it if that is known. */
        StoreProblem: {
            project_id: string | null;
            place: string;
            what: string;
        };
        /**
         * @description A way that was tried on tasks like the one asked about, of one type, or on all, in whatever words.
         *
         *     Counts are whole: `successes`, `partials` and failures add up to `trials`, on `tasks` tasks; `unverified` outcomes are not among them. The
         *     newest `last_run` trials all failed; of the newest 8, `lately` succeeded (`None` where that is not known). `expected` is the rate of success to
         *     expect, drawn towards the agent's rate where little is known; `interval` bounds it at 95 %. `recent_rate` weighs later trials more. `rule`
         *     says what the way amounts to: "works" (a heuristic), "fails" (an anti-pattern) or "tried". `id` is that of the rule, else of the newest
         *     outcome; `record_usage` takes either. `outcome_ids` are the newest outcomes behind it, newest first.
         *     `similarity` is the nearness of the nearest task, from −1 to 1, `None`
         *     if no task was asked about.
         *     `propensity` is the probability with which this row came first, for the first row. `is_of_steps` is True where it was tried as a step of
         *     attempts, not as the strategy of whole ones. `elsewhere` is True where it was only tried on another kind of task, in equal words.
         */
        StrategyRecord: {
            /** @default  */
            id?: string;
            tag?: string | null;
            strategy: string;
            /** @default [] */
            wordings?: string[];
            /** @default  */
            task?: string;
            task_type?: string | null;
            agent: string;
            trials: number;
            successes: number;
            /** @default 0 */
            partials?: number;
            /** @default 0 */
            unverified?: number;
            /** @default 0 */
            tasks?: number;
            /** @default 0 */
            last_run?: number;
            lately?: number | null;
            rate: number;
            /** @default 0.5 */
            expected?: number;
            interval: components["schemas"]["Range"];
            /** @default 0.5 */
            recent_rate?: number;
            propensity?: number | null;
            /** Format: date-time */
            last_used: string;
            /** @default tried */
            rule?: string;
            status?: string | null;
            verdict: components["schemas"]["Judgement"];
            heuristic_id?: string | null;
            anti_pattern_id?: string | null;
            why_bad?: string | null;
            better_alternative?: string | null;
            shared_from?: string | null;
            similarity?: number | null;
            /** @default false */
            is_of_steps?: boolean;
            /** @default false */
            elsewhere?: boolean;
            flagged?: string | null;
            /** @default [] */
            outcome_ids?: string[];
            /** @description The way, what became of it, and the verdict, in a line. */
            readonly summary: string;
        };
        /**
         * @description Strategies that were tried, best first: for tasks like the one asked about, else for all.
         *
         *     Without a row `hint` says what became of attempts that name no strategy; without these, what may be wrong: an agent with a similar name is
         *     known, or agent and task look swapped.
         */
        StrategyTable: {
            agent: string;
            task: string | null;
            rows: components["schemas"]["StrategyRecord"][];
            hint?: string | null;
        };
        /** @description A place that may hold content of a memory: how much was found there (`None`: it cannot be counted), and what was done about it. */
        Surface: {
            name: string;
            found: number | null;
            done: string;
        };
        /** @description How a receiver answered a test: its status, 0 for none, and then the sort of error. */
        Tested: {
            is_success: boolean;
            status: number;
            error: string;
            ms: number;
        };
        /** @description Days on which memories were made, oldest first. The sums of `by_kind` are those of the statistics. */
        Timeline: {
            days: components["schemas"]["DayView"][];
        };
        /** @description Tokens by name. */
        Tokens: {
            tokens: components["schemas"]["ShownToken"][];
        };
        Turn: [
            string,
            string,
            boolean
        ];
        /** @description Journal record to go back to. Nothing is undone unless `dry_run` is false. */
        Undo: {
            to: number;
            /** @description Only changes of this agent. */
            actor?: string | null;
            expected_head?: number | null;
            /** @default true */
            dry_run?: boolean;
        };
        /**
         * @description Result of an undo, or of its `dry_run`. `seq` is its own journal record; `None` if there was nothing to undo.
         *
         *     `head` is the newest journal record that was considered. `records` counts the calls that are undone. `brought_back`, `removed` and
         *     `changed` list memories by id; `others` names changed rows that belong to no memory. `purged` counts calls of which some content was
         *     purged since and cannot be restored.
         */
        UndoReport: {
            to: number;
            head: number;
            actor: string | null;
            dry_run: boolean;
            seq: number | null;
            records: number;
            brought_back: string[];
            removed: string[];
            changed: string[];
            others: string[];
            purged: number;
        };
        /** @description Two memories that may say the same, the older first, and why nobody merged them. `survivor` is the id of the one that a merge would keep. */
        UnsurePair: {
            id: string;
            memories: (components["schemas"]["Heuristic"] | components["schemas"]["Outcome"] | components["schemas"]["UserPreference"] | components["schemas"]["DomainKnowledge"] | components["schemas"]["AntiPattern"] | components["schemas"]["Conversation"] | components["schemas"]["CustomMemory"])[];
            reason: string;
            survivor: string;
        };
        /** @description Pairs that a person may judge, and how many there are in all. */
        UnsurePairs: {
            pairs: components["schemas"]["UnsurePair"][];
            total: number;
        };
        /**
         * @description Nodes, edges or sentences to merge into a self-model.
         * @example {
         *       "agent": "claude",
         *       "new_data": "User prefers concise replies.",
         *       "user_id": "ann"
         *     }
         */
        UpdateSelfModel: {
            agent?: string | null;
            user_id?: string | null;
            new_data: string | {
                [key: string]: unknown;
            } | unknown[];
        };
        /** @description Which of the memories shown were used. */
        Usage: {
            agent?: string | null;
            user_id?: string | null;
            retrieved_memory_ids: string[];
            used_memory_ids?: string[] | null;
        };
        /** @description Result of `record_usage`. `unknown` are ids of no memory that the agent can see: nothing was counted for them. */
        UsageReport: {
            used: string[];
            ignored: string[];
            neutral: string[];
            unknown: string[];
        };
        /** @description A constraint that a user set. It belongs to the user; `agent` is the agent that recorded it, if any. */
        UserPreference: {
            /**
             * @default user_preference
             * @constant
             */
            kind?: "user_preference";
            id?: string;
            /** @default  */
            agent?: string;
            user_id: string;
            /** @default  */
            project_id?: string;
            metadata?: {
                [key: string]: unknown;
            };
            /** @default 1 */
            confidence?: number;
            /** Format: date-time */
            created_at?: string;
            /** Format: date-time */
            updated_at?: string;
            category: string;
            preference: string;
            /** @default explicit_instruction */
            source?: string;
            /** Format: date-time */
            timestamp?: string;
        };
        /**
         * @description End of a task or a step. `unverified` means that it was not judged.
         * @enum {string}
         */
        Verdict: "success" | "failure" | "partial" | "unverified";
        /**
         * @description Source of a verdict: a tool (exit status, exception, test run), a person, an evaluator, the program that calls `learn`, the agent
         *     itself, or a file from elsewhere.
         * @enum {string}
         */
        VerdictSource: "tool" | "person" | "evaluator" | "caller" | "agent" | "imported";
        /**
         * @description Result of `verify`. `heads` has the newest hash of each project's chain: keep it elsewhere to notice a rewritten chain.
         *
         *     `problems` remain; `rebuilt` are those that a rebuild fixed.
         */
        VerifyReport: {
            problems: components["schemas"]["StoreProblem"][];
            /** @default [] */
            rebuilt?: components["schemas"]["StoreProblem"][];
            projects: number;
            records: number;
            memories: number;
            vectors: number;
            /** @default 0 */
            purged?: number;
            heads: {
                [key: string]: string;
            };
        };
        /** @description Version of ALMA, and of the API. */
        Version: {
            version: string;
            api: string;
        };
        /**
         * @description How a delivery stands: not tried yet, waiting for another attempt, delivered, or failed for good.
         * @enum {string}
         */
        WebhookDeliveryStatus: "pending" | "retrying" | "success" | "failed";
        /** @description Receivers, the oldest first. */
        Webhooks: {
            webhooks: components["schemas"]["ShownWebhook"][];
        };
        /** @description Rights of a token: `*` is any name, an empty `user_id` no user. `project` is that of addresses which name none, `None` where there is none. */
        WhoAmI: {
            name: string;
            agent: string;
            user_id: string;
            projects: string[];
            project: string | null;
            rights: string[];
            source: string;
            expires: number | null;
        };
        Problem: {
            /** @example /problems/scope-violation */
            type: string;
            title: string;
            status: number;
            detail: string;
            instance: string;
            request_id: string;
            errors?: {
                pointer: string;
                detail: string;
            }[];
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
