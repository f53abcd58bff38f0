"""Which English words can stand for each other, and which are opposites. Plain words; `alma.learning.stems` brings them to stems."""

SYNONYMS = """
    abort cancel
    accurate correct exact precise
    acknowledge confirm
    acquire obtain
    adapt adjust
    add append create insert introduce
    adjust alter change edit modify
    advise recommend
    affordable cheap inexpensive
    aim goal objective
    alert notify warn
    alike similar
    all each every
    allocate assign
    amend edit revise
    analyse examine study
    annual yearly
    answer reply respond
    app application
    apply employ leverage use utilise
    arrange order sort
    ask enquire inquire query request
    ask instruct prompt
    assess evaluate judge
    assist help support
    attempt try
    auth authentication
    author compose draft write
    authorisation permission
    bargain negotiate
    begin commence start
    big large larger
    bill invoice
    blank empty
    book reserve
    booking reservation
    boss manager supervisor
    break decompose divide split
    brief concise short terse
    broken failing faulty
    bug defect
    build construct
    build create make
    bump grow increase lengthen raise
    bundle package
    buy purchase
    calculate compute
    call invoke request
    cap limit restrict
    capture record
    case ticket
    catch intercept
    categorise classify label
    cause reason
    cease halt stop
    change rewrite
    chart draw graph plot
    chat conversation dialogue
    check confirm ensure inspect validate verify
    check review
    check test try
    choose pick select
    cite quote
    clarify describe explain
    clean cleanse tidy
    clear erase wipe
    client customer
    clone copy duplicate
    close end finish
    cluster group
    colleague coworker teammate
    collect gather
    combine consolidate merge unify
    common frequent
    complaint grievance
    complete entire full whole
    complete finish
    concrete specific
    concurrent concurrently parallel parallelise
    condense digest recap summarise
    config configuration settings
    connect link
    contact reach
    convert transform
    correct fix patch repair
    cost price
    create generate produce
    credentials secrets
    criticise critique
    crucial important key
    cut trim truncate
    database db
    dead unused
    deal handle manage process treat
    debug diagnose troubleshoot
    decide determine
    decrease lower reduce shorten shrink
    defect flaw
    defer delay postpone
    define specify
    delete drop erase purge remove
    deliver send ship
    demo demonstrate
    deploy release rollout ship
    describe docs document documentation
    destroy teardown
    detect discover find spot
    diff difference
    directory folder
    discount rebate
    discover find identify locate
    discuss talk
    display show
    distribute spread
    download fetch
    duplicate repeated
    eliminate remove
    email mail
    emphasise highlight stress
    enhance improve
    ensure guarantee
    enumerate list
    env environment
    equal identical same
    error exception failure
    error fault
    error mistake
    escalate hand transfer
    estimate gauge
    evidence proof
    examine inspect look read
    example instance sample
    exchange replace swap
    exclusively just only solely
    execute launch run
    execute perform run
    exit quit
    extract pull
    fake mock stub
    fast quick rapid
    fetch get load obtain retrieve
    find look search seek
    fix resolve solve
    flag toggle
    flaky intermittent unstable
    follow track
    forecast predict
    forward send
    frequently often
    function routine
    give offer provide supply
    hand manually
    happen occur
    headline title
    hint tip
    idle inactive
    image img
    image photo picture
    immediately instantly promptly
    improve optimise tune
    inform notify tell
    inspect review
    investigate research study
    isolate separate
    issue problem
    issue ticket
    iterate loop
    journey trip
    k8s kubernetes
    keep maintain preserve
    keep retain
    kill terminate
    label mark tag
    last previous prior
    latest newest
    lead prospect
    learn understand
    lib library
    limit throttle
    link url
    little small tiny
    live prod production
    llm model
    log record
    mask redact
    maximum peak
    migrate move
    minimise reduce
    monitor observe watch
    monitor supervise
    need require
    nudge remind reminder
    obsolete outdated stale
    origin source
    outcome result
    overview summary
    param parameter
    part piece portion section
    passenger traveller
    pause wait
    percentage proportion share
    performance speed
    periodically regularly
    persist save store
    pertinent relevant
    phase stage step
    phone telephone
    place put set
    plan schedule
    polish refine
    postgres postgresql
    propose recommend suggest
    publish release
    reboot restart
    rebuild reconstruct
    recover restore
    redundant superfluous unnecessary
    refactor reorganise restructure
    refresh update
    refund reimburse
    replicate reproduce
    repo repository
    resolution solution
    revert rollback undo
    safe secure
    send submit
    sign signature
    simplify streamline
    site website
    small smaller
    speak talk
    spec specification
    staff team
    statistics stats
    subject topic
    sum total
    supplier vendor
    trace track
    verbatim word
"""
"""A line: words of which each may stand for each other. A word may stand in several lines."""

OPPOSITES = """
    abort rollback / commit
    above / below
    absolute / relative
    abstract / concrete
    accelerate / brake slow
    accept / decline deny refuse reject
    accepted approved / declined denied refused rejected
    achieve / fail miss
    activate enable / deactivate disable
    active / passive
    add append create insert introduce / delete drop erase purge remove
    advance / afterwards arrears
    after / before
    agree / disagree
    all every everything / none nothing
    allow enable permit / ban block deny disable disallow forbid prevent prohibit
    allowlist whitelist / blacklist blocklist denylist
    ally / enemy
    always / never rarely seldom
    ancestor / descendant
    ancient old oldest / latest modern new newest recent
    anonymous / identified named
    answer / ask
    approve / decline deny disapprove refuse reject
    arrival arrive / depart departure
    ascending / descending
    assign / revoke withdraw
    async asynchronous / blocking sync synchronous
    attach / detach
    attack / defend
    automated automatic automatically / manual manually
    back backward backwards / forward forwards
    backend / frontend
    batch batched / individually singly streaming
    begin launch start / end finish stop
    best / worst
    big bigger large larger / small smaller tiny
    book confirm keep / cancel
    borrow / lend
    bottom / top
    breadth / depth
    break divide separate split / combine join merge
    brief concise terse / verbose
    broad general wide / narrow specific
    build create / destroy
    bump extend grow increase lengthen raise / cut decrease lower reduce shorten shrink
    buy purchase / sell
    buyer / seller
    casual informal / formal
    cause / effect
    ceiling / floor
    centralise / decentralise distribute
    cheap cheaper cheapest / costly dearest expensive
    check / ignore
    child / parent
    client / server
    close shut terminate / open start
    cold / hot warm
    collapse contract narrow reduce shrink / enlarge expand grow widen
    compress zip / decompress expand extract unzip
    concurrent concurrently parallel / sequential sequentially serial serially
    connect / disconnect
    consumer subscriber / producer publisher
    criticise / praise
    day / night
    decode / encode
    decrypt / encrypt
    deep / shallow
    delete discard drop remove / keep retain
    denormalise / normalise
    dense / sparse
    deposit / withdraw
    deserialise / serialise
    destination target / source
    deterministic / random
    different / same
    difficult hard / easy
    discard / save
    discourage / encourage
    display show / hide
    distrust doubt / trust
    double / halve
    down / sign up
    downgrade / upgrade
    download / upload
    downstream / upstream
    dry / wet
    dump unload / load
    dynamic / static
    eager / lazy
    earlier early / late later
    egress outbound outgoing / inbound incoming ingress
    enter / exit leave
    even / odd
    evening / morning
    exclude omit / include
    exhaustive / greedy
    explicit / implicit
    export / import
    external outer outside / inner inside internal
    extract / inline
    fail / pass
    failure / success
    false / true
    far / near
    fast faster quick / slow slower
    fast unsafe / safe
    fetch get / put send set
    few / many
    fewer less / more
    fire / hire
    all each every whole / first
    first / last
    floating / pinned
    forget / remember
    forward / reverse
    fragile / robust
    freeze / thaw unfreeze
    gain / lose
    give grant / revoke take withdraw
    global / local
    hard / soft
    head / tail
    heavy / light
    high higher highest / low lower lowest
    hit / miss
    horizontal / vertical
    immutable / mutable
    in / out
    input / output
    install / remove uninstall
    join / leave
    least / most
    left / right
    length / width
    lenient loose relaxed / strict tight
    lift / lower
    lock / release unlock
    login signin / logout signout
    long longer / short shorter
    lose / win
    lower / upper
    lowercase / uppercase
    major / minor
    majority / minority
    mandatory required / optional
    master primary / replica secondary standby
    max maximise maximum / min minimise minimum
    minus / plus
    mount / unmount
    multiple / single
    negative / positive
    off / on
    offline / online
    optimistic / pessimistic
    over / under
    pause suspend / resume start
    permanent / temporary
    poor / rich
    pop / push
    prefix / suffix
    private / public
    proceed / wait
    publish / retract unpublish
    pull / push
    read / write
    readonly / readwrite
    receive / send
    receiver recipient / sender
    register / unregister
    slow / speed
    stable / unstable
    stateful / stateless
    strong / weak
    structured / unstructured
    today / tomorrow yesterday
    with / without
"""
"""A line: each word left of the slash is an opposite of each word right of it."""
