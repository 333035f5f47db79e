/// The look of the operators' page: dense, light or dark as the reader's system is, a list on narrow screens, plain on paper.
enum OperatorsPageStyle {
  static let text = """
    :root{--paper:#f3f6f8;--card:#fff;--ink:#15212b;--soft:#52626f;--line:#dde4ea;--accent:#0a6c74;--code:#eef3f6;\
    --good:#12703f;--goodpaper:#dff3e6;--warn:#8a4b00;--warnpaper:#fdebd3;--bad:#a3171f;--badpaper:#fbe1e2;\
    --quietpaper:#e4eaef}
    @media (prefers-color-scheme:dark){:root{--paper:#0d151b;--card:#152029;--ink:#e6edf2;--soft:#9db0bd;\
    --line:#263541;--accent:#5cc8cf;--code:#0f1a21;--good:#7fdca3;--goodpaper:#143524;--warn:#f3bd78;\
    --warnpaper:#3a2a12;--bad:#ff9a9f;--badpaper:#431b1e;--quietpaper:#21323e}}
    *{box-sizing:border-box}
    html{-webkit-text-size-adjust:100%}
    body{margin:0;background:var(--paper);color:var(--ink);\
    font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
    .skip{position:absolute;left:-999rem}
    .skip:focus{left:1rem;top:1rem;background:#fff;color:#0b3d4f;padding:.5rem 1rem;border-radius:.4rem}
    header{background:#0b3d4f;color:#fff;padding:1.4rem max(1.25rem,calc((100% - 76rem)/2))}
    h1{font-size:1.5rem;line-height:1.2;margin:0 0 .9rem}
    h1 span{font-weight:400;color:#b9dfe2}
    dl{margin:0}dt{font-size:.8rem;color:var(--soft)}dd{margin:0}
    .overview{display:grid;grid-template-columns:repeat(auto-fit,minmax(9.5rem,1fr));gap:.9rem}
    .overview dt{color:#b9dfe2}
    .overview dd{font-size:1.1rem;font-weight:600;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
    main{max-width:78.5rem;margin:1.25rem auto 0;padding:0 1.25rem}
    section{background:var(--card);border:1px solid var(--line);border-radius:.7rem;padding:1.1rem 1.25rem;\
    margin-bottom:1.25rem}
    section.alarm{border-color:var(--bad);border-left-width:.35rem}
    h2{font-size:1.1rem;line-height:1.2;margin:0 0 .7rem}
    section p{margin:.4rem 0 0}
    ul{margin:0;padding-left:1.2rem}li{margin:.25rem 0;overflow-wrap:anywhere}
    .facts{display:flex;flex-wrap:wrap;gap:.8rem 2.2rem}
    table{border-collapse:collapse;width:100%;font-size:.92rem}
    th,td{text-align:left;padding:.45rem .7rem .45rem 0;border-top:1px solid var(--line);vertical-align:top;\
    font-variant-numeric:tabular-nums;overflow-wrap:anywhere}
    th:last-child,td:last-child{padding-right:0}
    thead th{border-top:0;color:var(--soft);font-weight:500;font-size:.82rem;overflow-wrap:normal}
    tbody th{font-weight:600;min-width:7rem}
    th.number,td.number{text-align:right;overflow-wrap:normal}
    time{white-space:nowrap}
    .soft{color:var(--soft);font-weight:400}
    .note{display:block;color:var(--soft);font-size:.85rem;margin-top:.2rem;max-width:32rem}
    .badge{border-radius:1rem;padding:.05rem .6rem;font-size:.82rem;font-weight:600;white-space:nowrap}
    .badge.good{background:var(--goodpaper);color:var(--good)}
    .badge.quiet{background:var(--quietpaper);color:var(--ink)}
    .badge.warning{background:var(--warnpaper);color:var(--warn)}
    .badge.bad{background:var(--badpaper);color:var(--bad)}
    code{font:.82rem/1.5 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;background:var(--code);\
    border-radius:.3rem;padding:.1rem .35rem;overflow-wrap:anywhere}
    td .note{min-width:8rem}.command{white-space:nowrap}
    a{color:var(--accent)}
    a:focus-visible{outline:3px solid var(--warn);outline-offset:2px;border-radius:.2rem}
    footer{max-width:78.5rem;margin:0 auto;padding:0 1.25rem 2rem;color:var(--soft);font-size:.88rem}
    @media (max-width:52rem){section{padding:.9rem 1rem}thead{position:absolute;left:-999rem}\
    table,tbody,tr,th,td{display:block}tr{border-top:1px solid var(--line);padding:.6rem 0}tr:first-child{border-top:0}\
    th,td{border-top:0;padding:.1rem 0}\
    td{display:grid;grid-template-columns:8.5rem 1fr;gap:.5rem}td.number{text-align:left}\
    td::before{content:attr(data-label);color:var(--soft);font-size:.82rem}}
    @media print{:root{--paper:#fff;--card:#fff;--ink:#000;--soft:#333;--line:#999;--accent:#000;--code:#fff;--good:#000;\
    --goodpaper:#fff;--warn:#000;--warnpaper:#fff;--bad:#000;--badpaper:#fff;--quietpaper:#fff}\
    body{font-size:10pt}header{background:#fff;color:#000;padding:0 0 .5rem}h1 span,.overview dt{color:#333}\
    main,footer{padding:0;max-width:none}tr{break-inside:avoid}h2{break-after:avoid}section{border:0;border-top:1px solid #000;border-radius:0;padding:.6rem 0}\
    .badge{border:1px solid #000;padding:0 .4rem}.skip{display:none}}

    """
}
