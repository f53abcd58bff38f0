"""Recognises a text that is itself the error of a tool, by its form. A text *about* errors (a log, a ticket, source code, search hits) is
none.

Most forms apply to the first line, and only to an answer that looks like one error: short, not a list of like errors, not prose under a
title. The others are closing lines of programs, which state an exit status in words, and error pages.
"""

import re
from http import HTTPStatus

HEAD_CHARS, TAIL_CHARS = 4_000, 2_000
"""Number of characters examined at the beginning and at the end of a text."""

_LINES = 14
"""An error with more lines than this, without its stack, is treated as a document."""

_LINES_OF_LONG = 3
"""The same, for a text that is longer than `HEAD_CHARS`."""

_MOST_ALIKE = 2
"""More lines that begin like errors are search hits or a log."""

_PHRASES = "|".join(sorted((re.escape(status.phrase) for status in HTTPStatus if status >= 400), key=len, reverse=True))
_EXCEPTION = r"(?:[A-Za-z_]\w*\.)*[A-Z]\w*(?:Error|Exception)"
_SYSTEM = (
    "command not found|not found|No such file or directory|Permission denied|Operation not permitted|Is a directory|Not a directory|File exists"
    "|Directory not empty|No space left on device|Read-only file system|Connection refused|Connection timed out|Operation timed out|Broken pipe"
)
_ERROR = r"(?:error|erreur|fehler|errore|erro|fout|ошибка|错误|錯誤|エラー|오류)"
_VALUE = r"(?!\s*(?:-?\d[\d.,]*\s*%?|none|null|no|nil|true|false|ok)?\s*(?:\n|$|[(\[,;|]))"
"""Follows a colon: something other than a count or nothing, on the same line."""

_EARLIER = r"(?:last|latest|previous|prior|recent|first|common|known|typical|mean|max|standard|total|example|no|the|a)\b"
"""Begins a report on an error of another call."""

_DEEDS = (
    r"(?:access|acquire|add|allocate|apply|attach|authenticate|authorize|bind|build|call|change|clone|commit|compile|complete|connect|convert"
    r"|copy|create|decode|decrypt|delete|deploy|determine|download|encode|establish|evaluate|exec|execute|export|extract|fetch|find|generate|get"
    r"|handle|import|init|initialize|install|invoke|launch|list|load|locate|lock|log|login|lookup|match|merge|mount|move|navigate|obtain|open"
    r"|parse|perform|process|publish|pull|push|query|reach|read|receive|register|remove|rename|render|request|resolve|restart|retrieve|run|save"
    r"|send|serialize|set|start|stat|stop|submit|update|upload|use|validate|verify|write)"
)
"""Begins the description of a failed action. Longer lines are prose, and a mere "not found" is an answer."""

_DONE = (
    r"(?:accessed|applied|completed|connected|converted|created|decoded|delivered|established|executed|fetched|found|imported|installed|loaded"
    r"|located|opened|parsed|processed|reached|read|resolved|retrieved|saved|sent|started|validated|verified)"
)
_THINGS = (
    r"(?:address|column|command|connection|dependenc(?:y|ies)|document|element|email|file|folder|host|image|mail|message|module|operation"
    r"|package|page|record|repository|request|requirements?|resource|schema|server|session|site|table|tool|url)"
)
"""Things whose absence or refusal fails a call. Of people, places and the like, it is an answer."""

_DEVICES = (
    r"(?:parser?|syntax|binder|catalog|conversion|constraint|transaction|compilation|configuration|authentication|authorization|permission"
    r"|import|build|query|http|client|timeout|type|value|key|parameter|argument|schema|io|i/o|storage|driver|unknown)"
)

_KEYS = (
    r"(?:log|output|note|hint|tip|help|info|status|state|reason|result|value|type|warning|name|title|message|subject|description)"
)
"""Begin a line of settings or of a report, not one of a program."""

_IN_ANY_CASE = (
    rf"(?:fatal )?{_ERROR}\s?[:：]{_VALUE}",
    rf"error:? [45]\d\d(?: (?:{_PHRASES})|:|$)",
    rf"error (?!handling|logging|reporting|tracking|monitoring|processing)\w+ing\b[^\n]*[:：]{_VALUE}",
    r"error - (?:\S+ ){2}\S|error (?:response )?from [^:\n]*: |error on \w+ing \w+\.?$|encountered error: ",
    r"error\[\w+\]: |error:? \([\w.]+\) |error \d+ \([0-9A-Z]{5}\)",  # a compiler's, a cloud's and a database's codes
    r"an (?:\w+ )?error occurred\b|(?:i encountered )?an error (?:while|when)\b[^\n]*:|there was an error (?:while|when)\b",
    r"(?:parse|syntax|runtime|compile|compilation) error (?:at|near|in|on) \S",
    rf"(?:http\S* (?:error |status )?)?[45]\d\d[:,]? (?:{_PHRASES})(?:$|[:.,;]\s| for )",
    r"http(?:/\S+)? (?:error |status (?:code )?)?[45]\d\d$|[45]\d\d (?:client|server) error:|request failed with status code [45]\d\d",
    r"(?:\w+ ){1,3}timed out(?: after\b| while\b|\.?$)|timed out (?:after|while)\b",
    r"(?:the )?(?:command|process|script|program) [^\n]{0,200}\bexit(?:ed)? (?:with )?(?:code|status) -?[1-9]\d*\b",
    r"\[?(?:exit|return)[ _]?(?:code|status)?:? -?[1-9]\d*\]?$|(?:file|path|directory) not found: ",
    rf"{_DEVICES} error(?: near line \d+)?:{_VALUE}",
    rf"(?:(?:the|your|this|an?|requested) )?(?:[\w.-]+ ){{0,3}}{_THINGS}s?(?: [\w.-]+| ['\"‘“`][^\n]{{1,120}}?['\"’”`])? "
    rf"(?:could not be {_DONE}|(?:was|were) not found|does(?: not|n't) exist)(?: (?:in|at|on|for|from|under|within|to an?|to the) [^\n,;]{{1,80}}?)?"
    r"(?:[.!:]?\s*(?:\n|$)|[.!:]\s)",
    r"(?:access|permission) denied(?: [-–] |[:.] ?)(?!\d)\S|denied: \S|permission to [^\n]{1,80} (?:has been |was |is )?denied\.?$",
    r"insufficient (?:permissions?|privileges|funds|quota|credits?|scopes?|storage)\b|(?:\w+ )?(?:quota|limit) exceeded\b(?! by)"
    r"|upstream connect error |no healthy upstream$",
    r"unknown (?:command|function|method|tool|action|operation|option|argument|column|table|database|host|parameter|field):? ['\"‘`]",
    rf"invalid (?:[\w-]+ ){{0,3}}[\w-]+:{_VALUE}(?!\s*\d+ of\b)|invalid (?:[\w-]+ ){{0,3}}[\w-]+ ['\"`]\S",
    r"(?:navigation|request|connection|upload|download|build|deploy(?:ment)?|installation|execution|validation|authentication|login|query|import"
    r"|export|migration|compilation|transaction|command|operation) failed (?:because|due to|with|after|at|on) [^\n]{1,160}$",
    r"(?:tool|function|command|action|handler)\b[^\n]{0,60} (?:raised|threw) (?:an? )?(?:\w+ )?\w*(?:error|exception)\b",
    r"(?:sql )?compilation error: ?\S|\w+ error in [\w ]{1,40} operation: \S|query \S+ failed: \S|timeout(?: of)? \d+ ?m?s exceeded",
    r"(?:tool|execution|server|api|network|database|validation|internal|system|unexpected|connection|request|mcp) error(?: -?\d+)?: \S",
)
_AS_WRITTEN = (
    rf"(?!(?i:{_EARLIER}))[A-Za-z]+(?: [\w/'-]+){{0,2}} (?:error|failed|FAILED):{_VALUE}",
    r"(?:FATAL|fatal|panic|PHP Fatal error|PHP Parse error|E): +[\w'\"(\[]|Uncaught \S|Unhandled exception|Exception in thread \"",
    rf"(?:I (?:could not|couldn't|was unable to)|[Ff]ailed to|[Uu]nable to|[Cc]ould not|Cannot) {_DEEDS} (?!any\b|a match\b"
    rf"|matching\b)(?![^\n]*\?$)(?![^\n]{{300}})",
    r"(?:[a-z]?(?:ba|da|k|z|fi|c)?sh|sudo|doas): (?:permission denied|no such file or directory|no matches found"
    r"|a (?:password|terminal) is required)(?:: \S|[\n;]|$)",
    rf"{_EXCEPTION} while \w+ing\b|\w*Error \[\w+\]: \S|\[\w+(?:\\\w+)*(?:Exception|Error)\]"
    rf"|(?:undefined|uninitialized|wrong|private|no implicit) [^\n]*\((?:\w+::)*[A-Z]\w+\)$",
    r"\s?ERR_[A-Z0-9_]+ |net::ERR_\w+|(?:ECONN[A-Z]+|ENOTFOUND|ETIMEDOUT|EACCES|ENOENT|EPERM|EADDRINUSE|EAI_AGAIN)\b[: ]\S|GraphQL: \S"
    r"|HTTP [45]\d\d: \S",
    r"Msg \d+, Level (?:1[1-9]|2\d), State \d+|(?:ORA|PLS|SP2|TNS)-\d{4,5}: \S|Code: \d+\. DB::\w*Exception"
    r"|\[(?:[A-Z]+_)+(?:NOT_FOUND|ERROR|EXISTS|DENIED|FAILED|MISMATCH)(?:\.\w+)?\] \S",
    r"\([A-Z]\w+(?:NotFound|Denied|Failed|Error|Exists|Exceeded|Required|Unauthorized|Forbidden)\) \S",
    r"\*\* \((?:Mix|exit|throw|EXIT[^)]*)\) |CMake Error(?: at \S+| in \S+)?[ :(]|Error in [^\n]{1,120} ?: ?(?:\n\s+)?\S"
    r"|# \S+\n(?:\./)?\S+\.go:\d+:\d+: |--- FAIL: ",
    r"[A-Z]\w+ could not find an? \S|No solution found when resolving \S|No replacement was performed\b"
    r"|(?:String to replace|[Oo]ld_str\w*|Old string)[^\n]{0,80} (?:was )?not found\b",
    r"File has (?:not been read|been (?:unexpectedly )?modified)\b",
    r"npm (?:ERR!|error) code |ERR [a-z]|\(error\) [A-Z]|\*\* \(\w+Error\) ",
    rf"{_EXCEPTION}(?:: *|\([\"'])(?=\S)|Exception:{_VALUE}|(?:Error|Exception)\([\"']",
    r"(?:[a-z_]\w*\.)+(?:errors|exceptions|exc)\.[A-Z]\w+: \S",
    r"\((?:[a-z_]\w*\.)+(?:errors\.)?[A-Z]\w+\) |[A-Z][a-z]+[A-Z]\w+: [45]\d\d |HTTPS?ConnectionPool\(host=",  # Python clients
    r"thread '[^'\n]*' (?:\(\d+\) )?panicked at |\S+:\d+:in [^\n]*\(\w+Error\)$",  # Rust, Ruby
    r"\[Errno -?\d+\] |[45]\d\d[ -][45]\.\d\.\d+ |Message: [^\n]+\n\s*\(Session info",  # an operating system, a mail server, Selenium
    rf"curl: \(\d+\) |(?!(?i:{_KEYS}):)[A-Za-z][\w.-]*: (?:(?:\w+ ){{0,3}}error|fatal|Error|ERROR|FATAL): ",
    rf"(?!{_KEYS}:)[a-z][\w.+-]*: (?:unable|failed) to {_DEEDS} ",
    r"[\w.-]+: (?:invalid|unrecognized|illegal) option\b",
    rf"(?![^\n]*:\d+:\s)[A-Za-z/@.][\w./+@-]*: [^\n]{{0,200}}\b(?:{_SYSTEM})(?: \([\w,-]+\))?\.?$",
    r"(?:/\S+/)?(?:ba|da|k|z)?sh: (?:-c: )?(?:line )?\d+: \S|'[^'\n]+' is not recognized as an internal or external command",
    r"[\w./\\-]+\.(?!log|txt|out|md)\w+[:(]\d+(?::\d+)?[^\n:]{0,20}[:)]+ (?:fatal )?error\b[^\n]*: ",  # a compiler's place and error
    rf"(?!{_KEYS}:)[a-z][\w.+-]*: (?:cannot|can't|[Ii]nvalid|missing|unknown|unrecognized|unterminated) \S+",
    r"Can't (?:open|connect|find|load|locate|read|write) |[^\n]* at \S+\.p[lm] line \d+\.$|(?:\S+: )?No module named \S+$",  # Perl, Python
    r"[A-Z][^:\n]{5,60}: line \d+ column \d+ \(char \d+\)$|Unknown (?:command|option|argument|subcommand): |\w+: '[^'\n]+' is not a \w+ command\b",
    r"\w*sh: command not found: \S|\S+ is not a valid tool, try |Tool with name \S+ not found|Unknown tool: |Action '[^'\n]+' don't exist",
)
_FIRST_LINE = re.compile("|".join([*(f"(?i:{form})" for form in _IN_ANY_CASE), *_AS_WRITTEN]), re.MULTILINE)
_WHOLE = re.compile(
    r"Not Found|Unauthorized|Forbidden|Internal Server Error|Bad Gateway|Service Unavailable|Too Many Requests|(?:Permission|Access) denied\.?"
    r"|(?:\w+ )?[Rr]ate limit (?:exceeded|reached)\b[^\n]{0,120}|Connection (?:refused|reset|closed|aborted)(?: by \w+)?\.?"
    r"|(?:\w+ )?(?:[Tt]imed out|[Tt]imeout)(?: after \d[\d.]* ?[a-z]*)?\.?|Error[.!]?"
    r"|(?:Invalid|Expired|Missing|Wrong) (?i:api[ -]key|(?:access |auth )?token|credentials|signature)\.?"
    r"|Killed|Terminated|Aborted|Segmentation fault|Bus error|Illegal instruction"
)
_LAST_LINES = (
    r"=*\ ?(?:\d+ \w+, )*[1-9]\d* failed(?:, \d+ \w+)*(?:, \d+ passed\b.*| in [\d.]+\s?m?s\b.*)",  # pytest
    r"=+ (?:\d+ \w+, )*[1-9]\d* (?:failed|errors?)\b.* in [\d.]+s =+|Node\.js v\d[\d.]*",
    r"FAILED \((?:failures|errors)=.*|test result: FAILED\..*|FAIL\t\S+\t[\d.]+s",  # unittest, cargo, Go
    r"Found [1-9]\d* errors? in .*|g?make(?:\[\d+\])?: \*\*\* .*|Automatic merge failed;.*|.*\(core dumped\)",
    r"error: could not compile .+|npm ERR! .+|npm error A complete log of this run .*|E: [A-Z][a-z]+ [a-z].+|[\w.-]+: error: .+",
    r"Try '\S+ --help' for more information\.|\w+: Exiting with failure status due to previous errors",
    rf"[\s\d:-]*curl: \(\d+\) .+|ssh: .+|.*\bfailed: (?:{_SYSTEM})\.?|The connection to the server \S+ was refused\b.*",
    r"(?:.{0,80} )?[\[(]?exit(?:ed)? (?:with )?(?:code|status):? -?[1-9]\d*[\])]?\.?",
    r"\S+: Permission denied \(publickey.*\)\.",
    r"(?:✖ )?\d+ problems? \([1-9]\d* errors?, .*\)|[1-9]\d* errors?, \d+ warnings?, \d+ informations?\s*",  # linters
    r"Tests: \d+, Assertions: \d+,.*\b(?:Failures|Errors): [1-9].*|\d+ examples?, [1-9]\d* failures?.*"
    r"|\d+ (?:doctests?, \d+ )?tests?, [1-9]\d* failures?.*",
    r"FAILED: .+|Executed \d+ out of \d+ tests?: (?:.*\b)?[1-9]\d* fails? .*|Errors while running CTest.*"
    r"|-- Configuring incomplete, errors occurred!|Execution halted",
    r".{0,40}Command failed with exit code [1-9]\d*\.?|.*\bversion solving failed\.|(?:docker: )?Error response from daemon: .+"
    r"|\[ERROR\] Found [1-9]\d* errors?.*",
)
_LAST_LINE = re.compile("|".join(_LAST_LINES))
_IN_LAST_LINE = (
    *("fail", "FAIL", "Fail", "rror", "ERR", "xit", "denied", "refused", "dumped"),
    *("curl: ", "ssh: ", "***", "Node.js", "E: ", "--help", "halted"),
)
"""One of these stands in any such line."""

_LAST_WORDS = re.compile(rf"(?:error|fatal|ERROR|FATAL):{_VALUE}.+")
"""A last line that counts only where at most one more line is like it, and none has another log level."""

_ANY_LINE = re.compile(
    r"^(?:(?:\S+:\d+:\d+: )?[A-Z]{1,4}\d{3,4} .*(?:\n.*){0,60}?\nFound [1-9]\d* errors?\..*|Failed!  - Failed: +[1-9].*|  +[1-9]\d* failing"
    r"|(?:# |ℹ )fail [1-9]\d*|.*\bExecuted \d+ tests?, with [1-9]\d* failures?.*|Build FAILED\."
    r"|The following tests FAILED:|\S+ +: ok=\d+ +changed=\d+ +(?:unreachable=[1-9]|unreachable=\d+ +failed=[1-9]).*"
    r"|(?:\[ERROR\] )?Tests run: \d+, (?:Failures: [1-9]|Failures: 0, Errors: [1-9]).*|\s+\+ CategoryInfo\s+: .*"
    r"|Tests:\s.*\b[1-9]\d* failed\b.*|(?:\[INFO\] )?BUILD FAIL(?:ED|URE)\b.*)$",
    re.MULTILINE,
)
_IN_ANY_LINE = ("\nFound ", "fail", "FAIL", "Fail", "CategoryInfo")
"""One of these stands in any such line."""

_PAGE = re.compile(
    rf"<title>\s*((?:error|(?:http\s|error:?\s)*[45]\d\d\b[\s:|–—-]*(?:{_PHRASES})?|{_PHRASES}))\s*</title>", re.IGNORECASE
)
_MARKUP = re.compile(
    r"(?:<\?xml[^>]*>\s*)?(?:<(?:\w+:)?\w*(?:Error|Fault)(?:Response)?[\s>]|<(?:\w+:)?Envelope\b[^>]*>.{0,500}?<(?:\w+:)?Fault\b)",
    re.IGNORECASE | re.DOTALL,
)
_MARKUP_TEXT = re.compile(r"<(?:\w+:)?(?:message|faultstring|text|reason)\b[^>]*>\s*([^<]+?)\s*</", re.IGNORECASE)
_TAG = re.compile(r"<[^>]*>")
_EXIT_STATUS = re.compile(
    r"(?:<(?:return_?code|exit_?code|exit_?status)>|(?:exit|return)[ _](?:code|status):? ?)(-?\d+)(?:\s*</\w+>)?(?=\s|$)",
    re.IGNORECASE,
)
"""Begins the answer of a shell of an agent. It decides, whatever the output says."""

_STATUS_LINE = re.compile(r"HTTP/\d(?:\.\d)? (\d{3})\b[^\r\n]*")
_TRACEBACK = re.compile(r"(?:-{10,}\n\S+ +)?Traceback \(most recent call last\):|  File \"[^\"\n]*\", line \d+")
_RAISED = re.compile(rf"(?:[a-z_]\w*\.)*[A-Za-z_]\w*(?::\s.*)?|{_EXCEPTION}\b.*")
_LIKE_ERROR = re.compile(rf"\W{{0,2}}(?:{_ERROR}|fatal|warn(?:ing)?|info|debug|failed|{_EXCEPTION})\b", re.IGNORECASE)
_REPEATED = re.compile(r"npm (?:ERR!|error)|E: ")
_SCRIPT = re.compile(rf"\S+:\d+\n(?:.*\n){{1,6}}?((?:{_EXCEPTION}|Error): .*)\n +at ")
"""Matches the place, the line of code and the exception at the end of Node.js output."""

_COMPILED = re.compile(r"[\w./-]+\.\w+: (?:In|At) .*:\n([\w./-]+:\d+:\d+: (?:fatal )?error: .*)")
"""Matches the function and the first error in it, at the beginning of C compiler output."""

_STACK = re.compile(r"[\s#│╷╵|>-]|at |Caused by|During handling|The above exception|\[|\(")
_PROSE = re.compile(r"^[A-Z\"'][^\n:{}\[\]=;]*[a-z]\. [A-Z][a-z]+ [^\n]*[.!?]$", re.MULTILINE)
"""A line of two sentences."""

_TITLE = re.compile(
    r"[^\n]* [-|–—·] (?:[A-Z]\w*\.? ?){1,3}$|[^\n]* - how to\b|[^\n]* (?:\(#\d+\)|\[(?:open|closed)\])$", re.MULTILINE
)
"""The title of a page, with its site."""

_TICKET = re.compile(
    r"^(?:Status|State|Priority|Severity|Assignee|Assigned to|Reporter|Reported by|Labels|Author|Opened)\b[^\n:]*:", re.M
)
_SETTINGS = re.compile(r"error:.*(?:\n(?!hint|help|note|error|warning|fatal)[\w-]+:(?: .*)?)+")
"""A settings file with a key `error`."""

_DECORATION = re.compile(
    r"\A(?:#+ (?:Result|Error)\s*\n|\[?(?i:std(?:out|err))\]?:?\s*\n|[ \t]*[╷│╵❌✗✘×✖⨯⚠🚫🔴\ufe0f]\s*|\s*\n)+"
)
_ANSI = re.compile(r"\x1b\[[0-9;]*m")


def error_in(text: str) -> str | None:
    """Returns the message of a text that is an error, or `None` for any other text.

    Only the first `HEAD_CHARS` and the last `TAIL_CHARS` characters are examined.
    """
    head = _DECORATION.sub("", _ANSI.sub("", text[:HEAD_CHARS]).replace("\r\n", "\n").replace("\r", "\n")).rstrip()
    if not head:
        return None
    tail = head if len(text) <= HEAD_CHARS else conclusion(text)
    if status := _STATUS_LINE.match(head):
        return status[0] if status[1] >= "400" else None
    if exit_status := _EXIT_STATUS.match(head):
        return None if int(exit_status[1]) == 0 else tail
    if code := _SCRIPT.match(head) or _COMPILED.match(head):
        return code[1]
    if head.startswith("<"):
        return _markup_error(head)
    if _TRACEBACK.match(head):
        return _raised(tail)
    return _first(head, is_whole=tail is head) or _closing(tail)


def conclusion(text: str) -> str:
    """Returns the end of a program's output, at most `TAIL_CHARS` characters; of a traceback only the last line."""
    tail = _ANSI.sub("", text[-TAIL_CHARS:]).replace("\r\n", "\n").replace("\r", "\n").strip()
    return (_raised(tail) or tail) if "Traceback (most recent call last)" in text[:TAIL_CHARS] else tail


def _first(head: str, *, is_whole: bool) -> str | None:
    """Returns the text, or its first lines, if it begins and continues like an error."""
    if _WHOLE.fullmatch(head):
        return head
    if not _FIRST_LINE.match(head) or _TITLE.match(head) or _SETTINGS.fullmatch(head):
        return None
    lines = [line for line in head.splitlines() if line.strip()]
    own = [line for line in lines if not _STACK.match(line)]
    is_long = len(own) > (_LINES if is_whole else _LINES_OF_LONG)
    return None if is_long or _is_listing(lines) or _is_document(head) else head


def _is_listing(lines: list[str]) -> bool:
    """Returns True for search hits or a log: three lines begin like errors or log levels, or two are the same."""
    alike = _like_errors(lines)
    return len(alike) > _MOST_ALIKE or len(set(alike)) < len(alike)


def _like_errors(lines: list[str]) -> list[str]:
    return [line for line in lines if _LIKE_ERROR.match(line) and not _REPEATED.match(line)]


def _is_document(head: str) -> bool:
    """Returns True for a document: prose under a title (after a blank line, a line of two sentences), or the fields of a ticket."""
    _, _, rest = head.partition("\n\n")
    return _PROSE.search(rest) is not None or _TICKET.search(head) is not None


def _closing(tail: str) -> str | None:
    """Returns the last line if a program reports its failure with it."""
    lines = tail.splitlines()
    last = lines[-1] if lines else ""
    if any(map(last.__contains__, _IN_LAST_LINE)) and _LAST_LINE.fullmatch(last):
        return last
    if _LAST_WORDS.fullmatch(last) and not _is_listing(lines) and all(_LAST_WORDS.match(line) for line in _like_errors(lines)):
        return last
    found = _ANY_LINE.search(tail) if any(map(tail.__contains__, _IN_ANY_LINE)) else None
    return found[0].strip() if found else None


def _raised(tail: str) -> str | None:
    """Returns the last line of a traceback, with the exception; `None` if the text does not end like one."""
    last = tail.rpartition("\n")[2]
    return last if _RAISED.fullmatch(last) else None


def _markup_error(head: str) -> str | None:
    if page := _PAGE.search(head):
        return page[1]
    if _MARKUP.match(head):
        said = _MARKUP_TEXT.search(head)
        return said[1] if said else " ".join(_TAG.sub(" ", head).split())
    return None
