"""Which English words are opposites. Plain words; `alma.learning.stems` brings them to stems, and knows of prefixes that undo."""

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
    ancient old older oldest / latest modern new newer newest recent young younger youngest
    anonymous / identified named
    answer / ask
    approve / decline deny disapprove refuse reject
    arrival arrive / depart departure
    ascending upward upwards / descending downward downwards
    down / upward upwards
    downward downwards / up
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
    continue keep / cease halt stop
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
    different fresh own separate / same shared
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
