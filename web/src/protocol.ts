// Questions to the server and their answers, see docs/formats/view.md.
// From the lists of fields in orrery/api/view: orrery help view --typescript

export interface Step {
  name: string; begin_ns: number; end_ns: number;
}
export interface RunInfo {
  name: string; kind: 'recorded' | 'simulated'; begin_ns: string; length_ns: number; num_ranks: number; num_traces: number; num_events: number;
  problems: string[]; steps: Step[]; steps_rank: number | null; step_ns: number | null; step_definition: string | null; can_predict: boolean;
  can_what_if: 'replay' | 'simulate'; has_memory: boolean;
}
export interface ActivityClass {
  key: string; name: string;
}
export interface SessionInfo {
  version: string; title: string; runs: RunInfo[]; can_open_plans: boolean; classes: ActivityClass[]; tabs: string[];
}
export interface Ranks {
  rank: number[]; trace: number[]; stage: number[]; node: number[]; late_ns: number[]; label: string[];
}
export interface Track {
  track: number; group: string; name: string; kind: 'ranges' | 'python' | 'host' | 'calls' | 'stream'; depth: number; count: number;
}
export interface SlicePlace {
  rank: number; track: number; row: number; begin_ns: number; duration_ns: number; name: string; depth: number;
}
export interface SliceDetails {
  name: string; begin_ns: number; duration_ns: number; class: string; facts: ({ name: string; value: string; place?: SlicePlace | null })[];
  launch: SlicePlace | null; kernels: SlicePlace[]; collective: number | null; stack: string[];
}
export interface CollectiveInstance {
  id: number; kind: string; group: string; bytes: number; begin_ns: number; arrival_ns: number; end_ns: number; last_rank: number;
  ranks: number[]; begins_ns: number[]; ends_ns: number[]; flags: string[];
}
export interface Collectives {
  total: number; instances: CollectiveInstance[];
}
export interface Hop {
  begin_ns: number; duration_ns: number; rank: number | null; track: number | null; class: string; name: string;
}
export interface Critical {
  step: number; begin_ns: number; length_ns: number; hops: Hop[];
}
export interface RangeTotals {
  classes: number[]; kernels: { name: string; class: string; count: number; ns: number }[]; num_kernels: number;
  ranks: { rank: number; label: string; classes: number[] }[];
}
export interface Found {
  total: number; names: { name: string; count: number; ns: number }[]; hits: SlicePlace[];
}
export interface TableData {
  heading: string; caption: string; columns: ({ name: string; align: 'left' | 'right'; unit: string })[]; rows: string[][];
  keys: ((number | null)[])[]; links?: (SlicePlace | null)[];
}
export interface Points {
  x_unit: string; y_unit: string; x_log: boolean; series: { name: string; x: number[]; y: number[] }[];
}
export interface Fact {
  label: string; value: string; note: string;
}
export interface Finding {
  text: string; more: string; share: number | null;
}
export interface Chart {
  heading: string; svg: string; caption: string; legend: { name: string; style: string }[];
}
export interface Section {
  heading: string; facts: Fact[]; findings: Finding[]; sentences: string[]; tables: TableData[]; charts: Chart[]; points?: Points | null;
}
export interface TabPage {
  title: string; sections: Section[];
}
export interface Change {
  what: string; name: string; change: string; before_ns: number; after_ns: number; count_before: number; count_after: number;
  a: SlicePlace | null; b: SlicePlace | null;
}
export interface CollectiveChange {
  name: string; step: number; transfer_ns: [number, number]; wait_ns: [number, number]; begin_ns: [number, number]; a: SlicePlace | null;
  b: SlicePlace | null;
}
export interface Differences {
  offset_ns: number; common_collectives: number; notice: string; pairs: [number, number][]; collectives: CollectiveChange[];
  step_before_ns: number | null; step_after_ns: number | null; steps: [number, number][]; changes: Change[];
}
export interface Prediction {
  step_ns: number | null; run: number; sentences: string[];
}
export interface OpenedPlan {
  name: string; step_ns: number; run: number;
}
export interface WhatIfChange {
  subject: string; name: string; speedup: number;
}
export interface WhatIfAnswer {
  before_ns: number; after_ns: number; sentences: string[]; run: number | null;
}

/** By the name behind api/. */
export interface Questions {
  'session': { request: Record<string, never>; reply: SessionInfo };
  'ranks': { request: { run?: number }; reply: Ranks };
  'activity': { request: { run?: number; level?: number; tile?: number; order?: 'rank' | 'stage' | 'node' | 'late'; first?: number; count?: number; fold?: number }; reply: ArrayBuffer };
  'tracks': { request: { run?: number; rank?: number }; reply: Track[] };
  'slices': { request: { run?: number; rank?: number; track?: number; level?: number; tile?: number }; reply: ArrayBuffer };
  'slice': { request: { run?: number; rank?: number; track?: number; row?: number }; reply: SliceDetails };
  'launches': { request: { run?: number; rank?: number; begin?: number; end?: number | null; most?: number }; reply: ArrayBuffer };
  'collectives': { request: { run?: number; begin?: number; end?: number | null; most?: number }; reply: Collectives };
  'critical': { request: { run?: number }; reply: Critical };
  'range': { request: { run?: number; begin?: number; end?: number | null; order?: 'rank' | 'stage' | 'node' | 'late'; first?: number; count?: number | null }; reply: RangeTotals };
  'find': { request: { run?: number; text?: string; from?: number; rank?: number; most?: number }; reply: Found };
  'tab': { request: { run?: number; name?: string }; reply: TabPage };
  'differences': { request: { a?: number; b?: number }; reply: Differences };
  'predict': { request: { run?: number }; reply: Prediction };
  'plan': { request: { plan?: number }; reply: OpenedPlan };
  'what-if': { request: { run?: number; changes?: WhatIfChange[]; keep?: boolean }; reply: WhatIfAnswer };
}
