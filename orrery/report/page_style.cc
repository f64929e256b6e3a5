#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/report/page.h"

namespace orrery::report {
namespace {

// Colours that people with any common colour blindness tell apart: blue, orange, teal and purple of
// different lightness; waiting is hatched, series of points have shapes.
constexpr std::string_view kLight = R"css(
color-scheme:light;
--page:#f4f5f8;--surface:#fff;--ink:#1a2130;--soft:#5a657b;--line:#dde1e9;--grid:#e6e9ef;
--accent:#2f6fb7;--compute:#2f6fb7;--transfer:#e07b22;--waiting:#fbe0c8;--memory:#16957a;
--idle:#e2e6ed;--empty:#f1f3f6;--host:#8259b3;--host-gap:#c4addf;--launch:#b8960f;
--launch-overhead:#e3cf77;--device-wait:#b3458c;--sync:#6d7787;--other:#8892a3;
--sky:#4aa3d3;--forward:#2f6fb7;--backward:#16957a;--weights:#84cbb6;--optimizer:#8259b3;
--on-dark:#fff;--on-light:#1a2130;--roof:#b3261e;
--heat-0:#f4f0f9;--heat-1:#e2d8f0;--heat-2:#cab8e3;--heat-3:#ae93d3;--heat-4:#9170c1;
--heat-5:#7450ab;--heat-6:#573290;--heat-7:#38186a;)css";

constexpr std::string_view kDark = R"css(
color-scheme:dark;
--page:#11141a;--surface:#1a1e27;--ink:#e7ebf3;--soft:#9aa5b9;--line:#2f3643;--grid:#2a303c;
--accent:#6aa5ea;--compute:#5896df;--transfer:#ee9448;--waiting:#4d3520;--memory:#35b897;
--idle:#2d3440;--empty:#20252f;--host:#a583d6;--host-gap:#5d4a7d;--launch:#d6b53a;
--launch-overhead:#7d6c2b;--device-wait:#d46fae;--sync:#8d98aa;--other:#7f8a9c;
--sky:#7cc3e8;--forward:#5896df;--backward:#2fa487;--weights:#1d6b58;--optimizer:#a583d6;
--on-dark:#0e1116;--on-light:#e7ebf3;--roof:#ff8a80;
--heat-0:#241f31;--heat-1:#35294c;--heat-2:#4a366b;--heat-3:#63498b;--heat-4:#8063ac;
--heat-5:#a084cb;--heat-6:#c3abe6;--heat-7:#e8dcfc;)css";

constexpr std::string_view kLayout = R"css(
*{box-sizing:border-box}
body{margin:0;background:var(--page);color:var(--ink);
font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif}
main{max-width:1178px;margin:0 auto;padding:28px 24px 64px}
.top{display:flex;justify-content:space-between;align-items:center}
.brand{color:var(--soft);font-size:13px;letter-spacing:.08em;text-transform:uppercase}
h1{font-size:30px;line-height:1.2;font-weight:650;margin:6px 0 14px;letter-spacing:-.01em;
overflow-wrap:anywhere}
h2{font-size:20px;line-height:1.3;font-weight:620;margin:0 0 6px;letter-spacing:-.005em}
h3{font-size:15px;font-weight:620;margin:24px 0 6px}
button{font:inherit;font-size:13px;color:var(--soft);background:var(--surface);
border:1px solid var(--line);border-radius:999px;padding:4px 14px;cursor:pointer}
button:hover{color:var(--ink)}
.facts{display:flex;flex-wrap:wrap;gap:4px 26px;margin:0 0 20px;font-size:14px}
.facts div{display:flex;gap:7px}
.facts dt{color:var(--soft)}
.facts dd{margin:0;font-variant-numeric:tabular-nums}
.figures{display:grid;grid-template-columns:repeat(auto-fit,minmax(180px,1fr));gap:14px;
margin:0 0 14px}
.tile,section{background:var(--surface);border:1px solid var(--line);border-radius:12px}
.tile{padding:14px 18px}
.tile b{display:block;font-size:26px;line-height:1.25;font-weight:650;letter-spacing:-.01em;
font-variant-numeric:tabular-nums}
.tile span{display:flex;align-items:center;gap:7px;font-size:13px;color:var(--soft)}
.tile svg{width:11px;height:11px}
nav{display:flex;flex-wrap:wrap;gap:4px 20px;font-size:13.5px;margin:18px 2px}
nav a{color:var(--accent);text-decoration:none}
nav a:hover{text-decoration:underline}
section{padding:22px 24px 24px;margin:0 0 18px}
.caption{color:var(--soft);font-size:14px;margin:0 0 12px;max-width:92ch}
.findings{margin:12px 0 0;padding:0;list-style:none}
.findings li{display:grid;grid-template-columns:92px 1fr;gap:0 18px;padding:11px 0;
border-top:1px solid var(--line)}
.findings li:first-child{border-top:0}
.findings p{margin:0;max-width:92ch}
.findings p+p{color:var(--soft);font-size:14px}
.share{font-variant-numeric:tabular-nums;font-weight:620;text-align:right;font-size:17px;
line-height:1.3}
.share i{display:block;height:5px;border-radius:3px;background:var(--idle);margin-top:4px;
overflow:hidden}
.share i i{margin:0;background:var(--transfer);border-radius:0}
.legend{display:flex;flex-wrap:wrap;gap:4px 20px;list-style:none;margin:8px 0 10px;padding:0;
font-size:13.5px}
.legend li{display:flex;align-items:center;gap:7px;margin:0}
.legend svg,.tile svg{width:14px;height:14px;flex:none;overflow:visible}
.ramp path{stroke:var(--line)}
.ramp .legend{gap:4px 14px}
.figure,.scroll{overflow-x:auto;background:
linear-gradient(90deg,var(--surface) 40%,transparent) 0 0/40px 100% no-repeat local,
linear-gradient(270deg,var(--surface) 40%,transparent) 100% 0/40px 100% no-repeat local,
linear-gradient(90deg,var(--line),transparent) 0 0/14px 100% no-repeat scroll,
linear-gradient(270deg,var(--line),transparent) 100% 0/14px 100% no-repeat scroll}
.figure svg{display:block;width:100%;min-width:760px;height:auto}
.figure+.figure,.figure+h3,.scroll+h3{margin-top:24px}
table{border-collapse:collapse;width:100%;font-size:14px}
th{text-align:left;font-weight:600;font-size:13px;color:var(--soft);white-space:nowrap}
th,td{padding:7px 14px 7px 0;border-bottom:1px solid var(--line);vertical-align:top}
tbody tr:last-child td{border-bottom:0}
.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.metrics td:first-child{width:46%}
.metrics code{font:13.5px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace}
.metrics small{display:block;color:var(--soft);font-size:13px;line-height:1.4}
.metrics .missing{color:var(--soft);white-space:normal;text-align:left}
table:not(.hops):not(.metrics):not(.generic) td{white-space:nowrap}
table.causes td:nth-child(6){white-space:normal;overflow-wrap:anywhere;min-width:220px}
.hops td:first-child{overflow-wrap:anywhere;min-width:300px}
.hops td:not(:first-child){white-space:nowrap}
table.generic td:not(.number){white-space:normal}
table.generic td.names{overflow-wrap:anywhere;min-width:240px}
table.generic th{white-space:normal;vertical-align:bottom}
table.generic [data-tip]{text-decoration:underline dotted var(--soft);text-underline-offset:3px}
input{font:inherit;font-size:14px;color:inherit;background:var(--page);width:260px;
border:1px solid var(--line);border-radius:8px;padding:6px 12px;margin:4px 0 10px}
.verdict{font-size:17px;margin:2px 2px 18px;max-width:92ch}
.alarm{border-left:5px solid var(--roof);background:var(--surface);padding:12px 18px;
border-radius:8px;margin:0 0 16px}
section ul{margin:6px 0 0;padding-left:20px;max-width:92ch}
section :not(.legend)>li+li{margin-top:4px}
.settings{display:grid;grid-template-columns:repeat(auto-fit,minmax(220px,1fr));gap:6px 32px}
.settings h3{margin:6px 0 4px}
.settings dl{display:grid;grid-template-columns:auto 1fr;gap:2px 14px;margin:0;font-size:14px}
.settings dt{color:var(--soft)}
.settings dd{margin:0}
footer{color:var(--soft);font-size:13px;margin:20px 2px}
#tip{position:fixed;z-index:9;pointer-events:none;display:none;white-space:pre-line;max-width:420px;
background:var(--ink);color:var(--page);font-size:13px;line-height:1.45;padding:7px 11px;
border-radius:7px;overflow-wrap:anywhere}
@media(max-width:600px){main{padding:18px 12px 40px}section{padding:16px 14px 18px}
h1{font-size:24px}.figures{grid-template-columns:repeat(2,minmax(0,1fr));gap:10px}
.tile{padding:10px 14px}.tile b{font-size:21px}}
@media print{nav,button,input{display:none}section,.tile{break-inside:avoid}}
)css";

constexpr std::string_view kCharts = R"css(
.figure text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif;
font-variant-numeric:tabular-nums;fill:var(--soft)}
.figure text.label{font-size:12.5px;fill:var(--ink)}
.figure text.axis-title{font-size:12.5px}
.figure [data-tip]:hover{filter:brightness(1.12)}
.grid{stroke:var(--grid);stroke-width:1}
.whisker{stroke:var(--ink);stroke-width:1.5}
.half{stroke:var(--ink);stroke-width:5}
.roof{stroke:var(--roof);stroke-width:1.5;stroke-dasharray:7 5}
.figure text.roof-label{fill:var(--roof);paint-order:stroke;stroke:var(--surface);stroke-width:4px}
.jump{fill:none;stroke:var(--ink);stroke-width:1;opacity:.55}
.line{stroke:var(--colour);stroke-width:1.6;stroke-linejoin:round}
.figure path.line{fill:none}
.dot{stroke:var(--colour);stroke-width:1.6;fill-opacity:.35}
.waiting{fill:url(#hatch)}
#hatch rect{fill:var(--waiting)}
#hatch path{stroke:var(--transfer);stroke-width:2.2}
.figure text.on-compute,.figure text.on-transfer,.figure text.on-memory,.figure text.on-host,
.figure text.on-device-wait,.figure text.on-sync,.figure text.on-launch,.figure text.on-other
{fill:var(--on-dark);font-weight:600}
.figure text.on-forward,.figure text.on-backward,.figure text.on-optimizer
{fill:var(--on-dark);font-weight:600}
.figure text.on-weights,.figure text.on-sky,
.figure text.on-idle,.figure text.on-host-gap,.figure text.on-launch-overhead
{fill:var(--on-light);font-weight:600}
.figure text.on-waiting{fill:var(--on-light);font-weight:600;paint-order:stroke;
stroke:var(--waiting);stroke-width:4px}
)css";

// Styles that only fill, named as their colours.
constexpr std::string_view kFills[] = {
    "compute", "transfer",        "memory",      "idle",     "empty",  "host",   "host-gap",
    "launch",  "launch-overhead", "device-wait", "sync",     "other",  "sky",    "heat-0",
    "heat-1",  "heat-2",          "heat-3",      "heat-4",   "heat-5", "heat-6", "heat-7",
    "forward", "backward",        "weights",     "optimizer"};

std::string Fills() {
  std::string out;
  for (const std::string_view name : kFills) {
    out += fmt::format(".{0}{{--colour:var(--{0});fill:var(--colour)}}\n", name);
  }
  return out;
}

}  // namespace

std::string PageStyle() {
  return fmt::format(
      ":root{{{0}}}\n@media(prefers-color-scheme:dark){{:root:not([data-theme=light]){{{1}}}}}\n"
      ":root[data-theme=dark]{{{1}}}\n{2}{3}{4}",
      kLight, kDark, kLayout, kCharts, Fills());
}

}  // namespace orrery::report
