"""Which English words can stand for each other. Plain words; `alma.learning.stems` brings them to stems."""

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
    begin commence open start
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
