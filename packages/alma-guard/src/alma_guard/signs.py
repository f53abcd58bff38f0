"""The signs of orders in English and in the markup of chats, and of other texts that are not to be acted on.

A sign is matched against text in small letters. Each has hints: words one of which stands in any text that bears it, near to it.
"""

DOUBTS = ("reads like an instruction", "runs code from the network", "steps around a check", "writes to a memory")
"""The reasons to doubt a text, in fixed words."""

INSTRUCTION, REMOTE_CODE, BYPASS, MEMORY = DOUBTS

_UP_TO_3 = r"\W+(?:\w+\W+){0,3}?"
_RULES = r"(?:instructions?|prompts?|rules?|guidelines?|directions?|directives?|orders?|commands?|programming|polic(?:y|ies)|restrictions?)"
_MODEL = r"""(?:(?:ai|llm)s?(?:\W+(?:\w+\W+){0,2}?(?:models?|assistants?|agents?|reviewers?|readers?|crawlers?|bots?))?
             |(?:large\W+)?language\W+models?|assistants?|agents?|chatbots?)"""
_CLAUSE = r"(?:^|[.!?:;>*#(\[/-])[ \t\"'*]{0,8}"
_VOID = r"(?:void|outdated|obsolete|suspended|revoked|invalid|cancell?ed|replaced|superseded|lifted)"
_LIMITS = r"""(?:(?:content|usage|safety|ethical)\W+(?:polic(?:y|ies)|guidelines?|filters?|rules?|limits?)|safety|censorship|guardrails?
              |restrictions?|ethics)"""
_ORDER = r"""\b(?:you|your|user|assistant|agent|model|always|never|must|please|ignore|disregard|forget|overrid\w*|bypass|approve|grant|allow
              |reveal|print|output|send|forward|transfer|delete
             |execute|run|call|reply|respond|answer|say|do\W+not|don['’]?t|new|act|follow|enter|switch|disable|enable|skip|remember|instructions?
              |prompt)\b"""
_OWNER = r"(?:user|human|operator|developer|owner)s?"

SIGNS = (
    (  # setting rules aside
        ("ignor", "disregard", "forget", "overrid", "bypass", "discard"),
        rf"""\b(?:ignor(?:e|ing)|disregard(?:ing)?|forget|overrid(?:e|ing)|bypass(?:ing)?|discard)\b{_UP_TO_3}
             (?:(?:previous|prior|above|earlier|preceding|former|original|system|safety|security|your|these)\W+(?:\w+\W+){{0,2}}?{_RULES}
              |(?:any|all)\W+(?:other\W+)?(?:instructions|guidelines|directives)
              |{_RULES}\W+(?:above|before|given|you\W+(?:were|have))
              |(?:everything|anything|all|what)\W+(?:\w+\W+){{0,3}}?(?:above|before|previously|told))\b""",
    ),
    (  # the same in other words: whatever the verb, all that was said before
        ("told", "instructed", "been given", "taught", "programmed"),
        r"""\b(?:ignor|disregard|forget|overlook|neglect|dismiss|drop|discard|abandon|set\W+aside|pay\W+no\W+attention\W+to|do\W+not\W+follow)\w*
            \W+(?:all|everything|anything|whatever|any|every)\b\W+(?:\w+\W+){0,4}?you(?:['’]ve|\W+have|\W+were|\W+had)?\W+(?:\w+\W+){0,2}?
            (?:told|instructed|taught|given|programmed|asked|trained)\b""",
    ),
    (
        ("ignore th", "ignore all", "disregard th", "forget th"),
        r"""\b(?:ignore|disregard|forget)\W+(?:the|this|that|these|those|all)\W+(?:\w+\W+){0,3}?and\W+(?:only\W+|just\W+|instead\W+)?
            (?:say|state|print|write|output|reply|respond|answer|repeat)\b(?:\W+(?:only|with))?\s*[:'"“‘]""",
    ),
    (("new ",), r"\bnew\W+(?:persona|role|identity|personality|directives?|objective|system\W+prompt)\s*:"),
    (
        ("override",),
        r"\b(?:system|admin(?:istrator)?|developer|root|security|safety|emergency|operator)\W+override\s*[:!]",
    ),
    (  # giving orders and roles
        ("re now", "are now", "must now", "will now", "shall now", "no longer", "instead"),
        r"""\byou\W+(?:must|shall|will)\W+(?:now|instead)\b | \byou\W+should\W+instead\b
          | \byou(?:\W+a|['’])re\W+now\W+(?:an?|dan|in\W+(?:\w+\W+)?mode|free\W+(?:of|from)\W+(?:\w+\W+){0,2}?(?:restrict|rule|limit|polic|filter
              |constraint)\w*|acting|playing|operating|unrestricted)\b
          | \byou\W+are\W+no\W+longer\W+(?:an?|bound|restricted|limited)\b""",
    ),
    (
        ("from now on", "henceforth"),
        r"\b(?:from\W+now\W+on|henceforth)\W+(?:you\b|(?:always|never|respond|reply|answer|act|approve|ignore|use|call|send|treat)\b)",
    ),
    (
        ("pretend", "act as", "behave as"),
        rf"""\b(?:pretend|act|behave)\W+(?:to\W+be|as\W+if|as\W+though|as\W+an?|that)\b{_UP_TO_3}
             (?:unrestricted|unfiltered|uncensored|jailbroken|no\W+(?:rules|restrictions|limits)|root|superuser|administrator)\b""",
    ),
    (
        ("act as", "behave as", "operate as"),
        r"""\b(?:act|behave|operate)\W+as\W+(?:an?\W+|the\W+)?(?:\w+\W+)?(?:admin\w*|root|superuser|sudo)\b
            [^.\n]{0,40}\b(?:full|all|unlimited|any)\b""",
    ),
    (
        ("unrestricted", "unfiltered", "uncensored", "jailbroken"),
        r"\byou(?:\W+are|['’]re)\W+(?:now\W+)?(?:an?\W+)?(?:\w+\W+){0,2}?(?:unrestricted|unfiltered|uncensored|jailbroken)\b",
    ),
    (  # asking for the prompt
        ("prompt", "instruction", "guideline", "your rules", "system message"),
        rf"""\b(?:reveal|print|show|output|repeat|display|leak|expose|dump|encode|recite|see|tell\W+me|give\W+me|send\W+me)\b{_UP_TO_3}
             (?:(?:system|initial|hidden|original|secret|developer)\W+(?:prompts?|instructions?|messages?)
              |your\W+(?:prompts?|instructions?|guidelines|rules))\b
          | \b(?:tell|give|send)\W+me\W+(?:\w+\W+){{0,5}}?(?:your|the)\W+(?:system|initial|hidden|original|secret)\W+(?:prompts?|instructions?)\b
          | \b(?:new|updated|real|actual|important)\W+(?:system\W+)?(?:instructions?|prompt)(?:\W+(?:for|to)\W+(?:you|the\W+{_MODEL}))?\s*:
          | \binstructions?\W+(?:to|for)\W+(?:(?:the|any|all)\W+)?{_MODEL}\b\s*[:,]""",
    ),
    (
        ("attention", "note to", "note for", "message to", "message for"),
        rf"\b(?:attention|notes?|messages?)\W+(?:(?:to|for)\W+)?(?:(?:the|any|all)\W+)?{_MODEL}\b\s*[:,]",
    ),
    (  # hiding from the user
        ("the user", "the human", "the operator"),
        r"""\b(?:do\W+not|don['’]?t|never|without)\W+(?:tell|inform|mention|alert|notify|reveal|show)(?:ing)?\b\W+(?:\w+\W+){0,4}?
            the\W+(?:user|human|operator)\b
          | \bkeep\b[^.\n]{0,30}\b(?:hidden|secret)\W+from\W+the\W+(?:user|human|operator)\b""",
    ),
    (  # a turn of its own, and the markup of chats and tools
        ("system", "assistant:", "developer:"),
        rf"""(?:^|["'>])[ \t]{{0,8}}(?:system|assistant|developer)(?:\W+(?:prompt|message|note|override))?\s?:(?=[^\n]{{0,160}}{_ORDER}
              |\s{{0,4}}\n[^\n]{{0,160}}{_ORDER})""",
    ),
    (
        ("<", "inst]", "###", "tool_", "function_call"),
        r"""(?<!`)(?:<\|[a-z_]{2,40}\|>|\[/?inst\]|<</?sys>>)(?!`|\s(?:in|is|are|marks?|markers?|tokens?|tags?|for|as)\b)
              | ^[ \t]{0,8}\#\#\#[ \t]?(?:system|instructions?|assistant)\b
          | "(?:tool_calls?|function_call)"\s*:
          | (?<!\w)</?(?:system|assistant|instructions?|tool_(?:calls?|use|results?)|function_(?:calls?|results?)|invoke)\b(?!\.)[^<>\n]{0,80}>""",
    ),
    (
        ("initially", "originally", "at the start", "at the beginning"),
        r"""\b(?:text|prompt|words|messages?|instructions?)\W+(?:that\W+)?you\W+(?:were|had\W+been|have\W+been)\W+(?:given|told|shown|sent)\W+
            (?:initially|originally|at\W+the\W+(?:start|beginning))\b""",
    ),
    (  # declaring former rules void
        (
            "no longer",
            "void",
            "outdated",
            "obsolete",
            "suspended",
            "revoked",
            "invalid",
            "cancel",
            "replaced",
            "superseded",
            "not apply",
        ),
        rf"""\byour\W+(?:\w+\W+)?(?:instructions|rules|guidelines|directives|guidance|programming|system\W+prompt)\W+
             (?:(?:are|is|was|were|ha(?:s|ve)\W+been)\W+(?:now\W+|hereby\W+)?{_VOID}|(?:no\W+longer|do\W+not|don['’]t)\W+(?:apply|count|hold
              |matter))\b
          | \b(?:instructions|rules|guidelines|directives)\W+(?:that\W+)?you\W+(?:were\W+given|received|got|had|have)\W+(?:\w+\W+){{0,3}}?
             (?:are|were)\W+(?:\w+\W+)?{_VOID}\b""",
    ),
    (  # another master, other rules
        (
            "you now",
            "on this page",
            "in this document",
            "in this text",
            "in this message",
            "instructions start",
            "instructions begin",
            "new task",
            "listen to",
            "follow the",
            "obey",
            "the user",
            "the human",
            "the operator",
        ),
        rf"""\byou\W+(?:now|only)\W+(?:serve|obey|belong\W+to|answer\W+(?:only\W+)?to)\b
          | \b(?:only|follow|obey)\W+(?:the\W+|these\W+)?(?:instructions|rules|orders)\W+(?:in|on|of)\W+this\W+(?:page|document|text|message|note
              |file|mail)\W+(?:instead|count|apply)\b
          | \b(?:real|actual|true)\W+instructions\W+(?:start|begin|follow)\b
          | \byour\W+(?:\w+\W+)?(?:task|goal)\W+(?:is|was|has\W+been)\W+{_VOID}\W+your\W+new\W+(?:task|goal)\b
          | \b(?:must\W+not|do\W+not|don['’]?t|stop|no\W+longer)\W+(?:follow|obey|listen\W+to|following|obeying|listening\W+to)\W+
             (?:the\W+|your\W+)?{_OWNER}(?:['’]s?)?\W+(?:(?:\w+\W+)?(?:instructions|rules|requests?|orders)\b|any\s?(?:more|longer)\b)
          | \b(?:ignore|disregard|override)\W+(?:what\W+)?the\W+{_OWNER}(?:['’]s?)?\W+(?:\w+\W+){{0,3}}?(?:and|instead)\b""",
    ),
    (  # an order to a model that is addressed
        (
            "ai:",
            "ai,",
            "llm",
            "llms",
            "model:",
            "model,",
            "models:",
            "models,",
            "assistants:",
            "assistants,",
            "assistant,",
            "agents:",
            "agents,",
            "agent,",
            "reviewer:",
            "reviewers:",
            "reader:",
            "readers:",
            "crawler",
            "bot:",
            "bots:",
            "bots,",
            "chatbot",
            "you are a",
            "as an ai",
        ),
        rf"""(?:{_CLAUSE}|\b(?:dear|hey|hello|attention|to|for)\W+(?:the\W+|any\W+|all\W+)?)
             (?:(?:ai|llm)s?(?:\W+(?:\w+\W+){{0,2}}?(?:models?|assistants?|agents?|reviewers?|readers?|crawlers?|bots?))?
              |(?:large\W+)?language\W+models?|chatbots?)
             \s?[:,]\s*(?:please\W+|you\W+must\W+|always\W+)?
             (?:ignore|disregard|forget|override|bypass|append|send|forward|upload|delete|reveal|leak|recommend|approve|skip|transfer|execute|run
              |rate|say|answer\W+(?:that|with|only)
               |reply|include\W+(?:this|the)|do\W+not|never|your)\b
          | {_CLAUSE}(?:assistant|agent)\s?,\s*(?:please\W+)?(?:ignore|disregard|forget|override|reveal|leak)\b
          | \b(?:if|since)\W+you\W+are\W+(?:an?\W+)?(?:ai|llm|(?:large\W+)?language\W+model|chatbot)\b[^.\n]{{0,80}}?\b(?:ignore|disregard|forget
              |recommend|reveal|approve|rate\W+(?:this|it))\b
          | \bas\W+an?\W+(?:ai|llm)(?:\W+\w+){{0,2}}\W+(?:reading|processing|summari[sz]ing)\W+(?:this|the)\b""",
    ),
    (  # a role without limits
        ("pretend", "imagine", "roleplay", "role-play", "simulate", "act as", "act like", "behave", "answer", "respond"),
        rf"""\b(?:pretend|imagine|role-?play|simulate|act\W+(?:as|like)|behave\W+(?:as|like))\b[^.\n]{{0,80}}?
             \b(?:(?:without|no|free\W+(?:of|from))\W+(?:any\W+)?(?:\w+\W+)?{_LIMITS}|(?:ignores?|breaks?|follows?\W+no|ha(?:s|ve)\W+no
              |without\W+any)\W+(?:every\W+|all\W+|any\W+)?(?:\w+\W+)?rules?)\b
          | \b(?:answer|respond|reply)\W+(?:\w+\W+){{0,2}}?without\W+(?:any\W+)?(?:filters?|restrictions?|limits|censorship)\b""",
    ),
    (
        (" mode",),
        r"""\b(?:enter|switch\W+(?:in)?to|activate|go\W+into|continue\W+in|stay\W+in|respond\W+in|operate\W+in|now\W+in)\W+(?:\w+\W+)?
             (?:jailbreak|god|dan|unrestricted|unfiltered|uncensored|evil)\W+mode\b
          | \b(?:maintenance|developer|debug|admin|root)\W+mode\b[^\n]{0,40}\byou\b[^\n]{0,60}\b(?:bypass|unrestricted|no\W+restrictions
              |without\W+(?:restrictions|approval|filters?))\b
          | \bpretend\b[^.\n]{0,80}\b(?:developer|debug|admin|root|god|dan)\W+mode\b""",
    ),
    (  # sending away what is not public, or acting unseen
        (
            "conversation",
            "chat ",
            "system prompt",
            "inbox",
            "memories",
            "memory",
            "user's",
            "users'",
            "environment variables",
            "customer",
            ".env",
            "id_rsa",
        ),
        r"""\b(?:send|forward|append|upload|post|submit|exfiltrate|transmit|leak|copy|e?-?mail)\W+(?:(?:\w|['’])+\W+){0,3}?
             (?:conversation|chat\W+(?:history|log)|system\W+prompt|inbox|memories|memory|environment\W+variables|\.env|id_rsa|customer\W+(?:list
              |data)|users?['’]s?\W+(?:\w+\W+)?(?:keys?|passwords?|credentials|tokens?|data))\b
             [^\n]{0,60}?\b(?:to|at|into|in)\b[^\n]{0,20}?(?:https?://|[\w.+-]+@[\w-]+\.\w)
          | \bleak\W+(?:\w+\W+){0,4}?(?:memory|memories|environment\W+variables|credentials|secrets?)\b[^.\n]{0,40}\byour\W+(?:answer|reply
              |response)\b""",
    ),
    (
        ("secretly", "covertly", "silently"),
        r"""\b(?:secretly|covertly)\W+(?:copy|send|forward|bcc|upload|transfer|leak|e?mail|include|insert|add|store|record)\b
          | \bsilently\W+(?:bcc|forward|e?mail|leak|exfiltrate)\W+[^.\n]{0,60}@""",
    ),
    (
        ("the user", "the human", "the operator", "the owner"),
        rf"""(?:{_CLAUSE}|\b(?:and|then|please|must)\W+)(?:execute|run|send|forward|transfer|pay|delete|approve|proceed|continue|upload|share
              |call)\b
            [^.\n]{{0,80}}\bwithout\W+(?:asking|informing|telling|notifying|consulting|the\W+(?:knowledge|consent)\W+of|confirmation\W+(?:from|by
              |of))\W+the\W+{_OWNER}\b""",
    ),
    (  # the text of the prompt in other words
        ("above",),
        r"""\b(?:repeat|print|output|copy|recite)\W+(?:all\W+|everything\W+)?(?:of\W+)?(?:the\W+)?(?:words|text|messages?|content|lines)\W+above\b
            [^\n]{0,40}(?:\b(?:starting|beginning|verbatim|word\W+for\W+word|exactly)\b)""",
    ),
    (
        ("[system", "[ system"),
        r"""\[\s?system(?:\W+(?:message|note|prompt|notice|alert|override))?\s?\][^\n]{0,80}\b(?:assistant|agent|ai|model|llm)\W+(?:must|shall
              |should|will)\b(?!\W+be\b)""",
    ),
    (("jailbreak", " mode "), r"\b(?:jailbreak|developer|god|dan)\s+mode\s+(?:is\s+)?(?:enabled|activated|on)\b"),
)
OTHER_SIGNS = (
    (
        REMOTE_CODE,
        ("curl", "wget", "iwr", "irm", "downloadstring", "invoke-webrequest", "base64", "/dev/tcp/", "execute"),
        r"""\b(?:curl|wget|fetch)\b[^|\n]{0,300}\|\s*(?:sudo\s+)?(?:\w*sh|python\d?|perl|ruby|node)\b
          | \b(?:\w*sh|source|\.)\s+<\(\s*(?:curl|wget)\b | \b(?:eval|exec|\w*sh\s+-c)\s+["']?\$\(\s*(?:curl|wget)\b
          | \biex\b[^\n]{0,80}(?:iwr|irm|downloadstring|invoke-webrequest) | (?:iwr|irm|invoke-webrequest)\b[^|\n]{0,200}\|\s*iex\b
          | \bbase64\s+(?:-d|--decode)\b[^|\n]{0,100}\|\s*(?:sudo\s+)?\w*sh\b | >&\s*/dev/tcp/
          | \b(?:download|fetch|retrieve|pull)\s+and\s+(?:then\s+)?(?:execute|run|eval)\b[^.\n]{0,80}(?:https?://|\bremote\b|\bscript\b)""",
    ),
    (
        BYPASS,
        ("skip", "bypass", "disabl", "regardless", "forc", "drop"),
        r"""\b(?:skip|bypass|disabl|drop|forc|suppress|avoid)\w*\b[^\n]{0,90}?
            \b(?:validat|verif|check|review|audit|approv|consent|schema|test|gate)\w*
            [^\n]{0,90}?\b(?:mark|flag|stamp|record|report|set)\w*\s+(?:\w+\s+){0,4}?(?:as\s+|to\s+)?
            (?:passed|success\w*|approved|clean|sanitized|verified|validated)\b
          | \b(?:record|report|return|mark|show)\w*\s+(?:\w+\s+){0,3}?(?:success|passed|ok|approved)\w*\s+(?:regardless|no\s+matter|whatever)\b
          | \b(?:skip|bypass|disable)\s+(?:\w+\s+){0,3}?(?:approval|consent|audit|security)\w*[^.\n]{0,80}
            \bwithout\s+(?:telling|asking|informing|notifying|logging)""",
    ),
    (
        MEMORY,
        (
            "remember",
            "memory",
            "user_",
            "system_",
            "agent_",
            "assistant_",
            "long_term",
            "memorize",
            "directive",
            "your instructions",
            "permanently",
            "forever",
            "all future",
            "every future",
        ),
        r"""\b(?:remember|save|store|record|persist|write|add|memorize|commit|keep|treat)\W+(?:this|that|it|these|the\W+following)\W+
            (?:\w+\W+){0,3}?(?:as|to|in|into)\W+
            (?:(?:\w+\W+){0,2}?(?:system|permanent|core|persistent|standing|global)\W+(?:directive|instruction|rule|prompt|policy|order|command)s?
              |your\W+(?:long\W?term\W+|permanent\W+|persistent\W+|core\W+)?(?:memory|instructions|directives|system\W+prompt))\b
          | \[\s*(?:user|system|assistant|agent|long_?term)[_ ](?:memory|prompt|instructions?|rules?|directives?)\s*[=:]
          | \b(?:update|rewrite|change|edit)\W+your\W+(?:long\W?term\W+|permanent\W+|persistent\W+|core\W+)?(?:memory|instructions
              |system\W+prompt)\s?[:,]
          | \b(?:remember|store|save|add|record|memorize|keep|note)\b[^\n]{0,60}\b(?:memory|permanently|forever|instructions|from\W+now\W+on
              |(?:all|every)\W+(?:future|later)|always)\b
            [^\n]{0,100}\b(?:never\W+ask|without\W+(?:asking|confirm\w*)|skip\w*|no\W+(?:rule|restriction|limit)s?|admin\w*\W+(?:rights|access
              |privileges)|bypass\w*
              |hidden\W+from|keep\W+(?:this|it)\W+(?:secret|hidden))\b
          | \b(?:always|forever)\W+remember\b[^.\n]{0,60}\byou\W+(?:must|shall|should|are|have\W+to)\b""",
    ),
)
"""Of each sign the reason, words one of which stands in any text that bears it, which are looked for first and cheaply, and what the sign is."""
