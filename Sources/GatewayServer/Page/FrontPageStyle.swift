/// The look of the page: light or dark as the reader's system is.
enum FrontPageStyle {
  static let text = """
    :root{--paper:#f3f6f8;--card:#fff;--ink:#15212b;--soft:#52626f;--line:#dde4ea;--accent:#0a6c74;--deep:#0b3d4f;\
    --keys:#12858c;--revised:#b05c05;--good:#12703f;--goodpaper:#dff3e6;--badge:#e4eef1;--code:#eef3f6}
    @media (prefers-color-scheme:dark){:root{--paper:#0d151b;--card:#152029;--ink:#e6edf2;--soft:#9db0bd;\
    --line:#263541;--accent:#5cc8cf;--deep:#0a2631;--keys:#36b3ba;--revised:#f0a64a;--good:#7fdca3;\
    --goodpaper:#143524;--badge:#21323e;--code:#0f1a21}}
    *{box-sizing:border-box}
    html{-webkit-text-size-adjust:100%}
    body{margin:0;background:var(--paper);color:var(--ink);\
    font:16px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
    .skip{position:absolute;left:-999rem}
    .skip:focus{left:1rem;top:1rem;background:#fff;color:#0b3d4f;padding:.5rem 1rem;border-radius:.4rem}
    header{background:linear-gradient(160deg,#0b3d4f,#0a6c74);color:#fff;padding:2.2rem 1.25rem 4.6rem}
    header>*{max-width:61.5rem;margin-left:auto;margin-right:auto}
    .brand{display:flex;align-items:center;gap:.8rem}
    .mark{width:3rem;height:3rem;flex:none}
    .hull{fill:#fff}.house{fill:#9fe0e3}.wave{fill:none;stroke:#9fe0e3;stroke-width:2.5;stroke-linecap:round}
    h1{font-size:2rem;line-height:1.1;margin:0;letter-spacing:-.02em}
    header p{color:#d7eef0;margin-top:.6rem;margin-bottom:1.4rem}
    dl{margin:0}dt{font-size:.8rem;color:var(--soft)}dd{margin:0}
    .overview{margin:0 auto;display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:1rem}
    .overview dt{color:#d7eef0}.overview dd{font-size:1.35rem;font-weight:600;font-variant-numeric:tabular-nums}
    main{max-width:64rem;margin:-3rem auto 0;padding:0 1.25rem}
    .card{background:var(--card);border:1px solid var(--line);border-radius:.9rem;padding:1.5rem;margin-bottom:1.5rem;\
    box-shadow:0 1px 2px rgb(0 0 0/.05),0 8px 24px rgb(11 61 79/.06)}
    .head{display:flex;align-items:center;flex-wrap:wrap;gap:.6rem;margin-bottom:1rem}
    h2{font-size:1.4rem;line-height:1.2;margin:0;letter-spacing:-.01em}
    h3{font-size:1rem;margin:1.8rem 0 .5rem}
    .badge{background:var(--badge);color:var(--accent);border-radius:1rem;padding:.1rem .65rem;font-size:.8rem;\
    font-weight:600;white-space:nowrap}
    .badge.quiet{color:var(--soft)}.badge.good{background:var(--goodpaper);color:var(--good)}
    .facts{display:flex;flex-wrap:wrap;gap:.8rem 2.2rem;font-variant-numeric:tabular-nums}
    .facts dd{font-weight:500}
    figure{margin:0}
    .picture{display:block;width:100%;height:auto;max-height:17rem}
    .grid{stroke:var(--line)}.axis{fill:var(--soft);font-size:11px}.value{fill:var(--ink);font-size:11px}
    .pair{display:grid;grid-template-columns:repeat(auto-fit,minmax(17rem,1fr));gap:.5rem 2rem}
    .shares{display:block;width:100%;height:auto;max-width:30rem}.share{fill:var(--ink);font-size:12px}
    rect.keys{fill:var(--keys)}rect.revised{fill:var(--revised)}
    figcaption{font-size:.85rem;color:var(--soft);display:flex;gap:.5rem;align-items:center;margin:.2rem 0 .6rem}
    .swatch{width:.8rem;height:.8rem;border-radius:.2rem;display:inline-block}
    .swatch.keys{background:var(--keys)}.swatch.revised{background:var(--revised);margin-left:.8rem}
    .wide{overflow-x:auto}.overview time{white-space:nowrap;font-size:1.1rem}
    table{border-collapse:collapse;width:100%;font-size:.92rem}
    caption{text-align:left;color:var(--soft);font-size:.85rem;padding:.2rem 0 .4rem}
    th,td{text-align:left;padding:.5rem .9rem .5rem 0;border-top:1px solid var(--line);vertical-align:top;\
    font-variant-numeric:tabular-nums}
    tbody th{font-weight:500}
    thead th{border-top:0;color:var(--soft);font-weight:500;font-size:.85rem;white-space:nowrap}
    th.number,td.number{text-align:right}
    td time,tbody th a{white-space:nowrap}
    .digest{display:block;color:var(--soft);font:.78rem/1.4 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace}
    code{font:.85rem/1.5 ui-monospace,"DejaVu Sans Mono",Menlo,Consolas,monospace;background:var(--code);\
    border-radius:.3rem;padding:.1rem .35rem;overflow-wrap:anywhere}
    details{margin-top:1rem}
    summary{cursor:pointer;color:var(--accent);font-weight:600}
    details table,details .facts{margin-top:.8rem}
    .addresses th{width:17rem;color:var(--soft)}.addresses caption{color:var(--ink);font-weight:600;font-size:.92rem}
    a{color:var(--accent)}
    a:focus-visible,summary:focus-visible,.wide:focus-visible{outline:3px solid var(--revised);outline-offset:2px;border-radius:.2rem}
    .warning{color:var(--revised);font-weight:600}
    footer{max-width:64rem;margin:0 auto;padding:0 1.25rem 3rem;color:var(--soft);font-size:.9rem}
    @media (max-width:40rem){.axis{font-size:22px}.value{font-size:18px}.overview time{font-size:.76rem}.card{padding:1.1rem}.addresses th,.addresses td{display:block;width:auto;\
    padding-right:0}.addresses td{border-top:0;padding-top:0}}
    @media print{body{background:#fff}header{background:none;color:#000;padding:0}header p,.overview dt{color:#000}\
    main{margin-top:1rem}.card{box-shadow:none}figure,tr{break-inside:avoid}h2,h3{break-after:avoid}.hull{fill:#0b3d4f}\
    .overview time{font-size:.8rem}.skip,details>summary{display:none}}

    """
}
