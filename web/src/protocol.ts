// Answers of the server, see docs/formats/view.md.

export interface Step { name: string; begin_ns: number; end_ns: number }
export interface RunInfo {
  name: string; kind: 'recorded' | 'simulated'; begin_ns: string; length_ns: number; num_ranks: number; num_traces: number;
  num_events: number; problems: string[]; steps: Step[]; steps_rank: number | null; step_ns: number | null; step_definition: string | null; can_predict: boolean;
  can_what_if: 'replay' | 'simulate' | ''; has_memory: boolean;
}
export interface ActivityClass { key: string; name: string }
export interface Session { version: string; title: string; runs: RunInfo[]; classes: ActivityClass[]; tabs: string[]; can_open_plans?: boolean }

export interface Ranks {
  rank: number[]; trace: number[]; stage: number[]; node: number[]; late_ns: number[]; label: string[];
}
export interface Track { track: number; group: string; name: string; kind: string; depth: number; count: number }

export interface SlicePlace { track: number; row: number; begin_ns: number }
export interface SliceDetails {
  name: string; begin_ns: number; duration_ns: number; class: number; facts: { name: string; value: string; place?: SliceOfRank | null }[];
  launch: SlicePlace | null; kernels: SlicePlace[]; collective: number | null; stack: string[];
}
export interface CollectiveInstance {
  id: number; kind: string; group: string; bytes: number; begin_ns: number; arrival_ns: number; end_ns: number; last_rank: number;
  ranks: number[]; begins_ns: number[]; ends_ns: number[]; flags: string[];
}
export interface Collectives { total: number; instances: CollectiveInstance[] }
export interface Hop {
  begin_ns: number; duration_ns: number; rank: number; track: number | null; class: number; name: string;
}
export interface Critical { step: string; begin_ns: number; length_ns: number; hops: Hop[] }
export interface RangeTotals {
  classes: number[]; kernels: { name: string; class: number; count: number; ns: number }[];
  ranks: { rank: number; label: string; classes: number[] }[]; num_kernels: number;
}
export interface Hit {
  rank: number; track: number; row: number; begin_ns: number; duration_ns: number; name: string; depth: number;
}
export interface Found { total: number; names: { name: string; count: number; ns: number }[]; hits: Hit[] }

export interface TableColumn { name: string; align?: string; unit?: string }
/** `links`: where a row is in the timeline. */
export interface TableData { columns: TableColumn[]; rows: string[][]; keys?: (number | null)[][]; links?: (SliceOfRank | null)[] }
export interface PointSeries { name: string; x: number[]; y: number[] }
export interface Points { x_unit: string; y_unit: string; x_log?: boolean; y_log?: boolean; series: PointSeries[] }
export interface Fact { label: string; value: string; note: string }
export interface Finding { text: string; more: string; share: number | null }
export interface Chart { heading: string; svg: string; caption: string; legend: { name: string; style: string }[] }
export interface Section {
  heading: string; facts?: Fact[]; findings?: Finding[]; sentences?: string[]; tables?: TableData[]; charts?: Chart[]; points?: Points;
}
export interface TabPage { title: string; sections: Section[] }

export interface SliceOfRank { rank: number; track: number; row: number; begin_ns: number; duration_ns: number }
export interface Change {
  what: string; name: string; before_ns: number; after_ns: number; count_before: number; count_after: number;
  a: SliceOfRank | null; b: SliceOfRank | null;
}
/** A collective that is in both runs; its numbers are of the first and the second. */
export interface CollectiveChange {
  name: string; step: number; transfer_ns: [number, number]; wait_ns: [number, number]; begin_ns: [number, number]; a: SliceOfRank | null; b: SliceOfRank | null;
}
export interface Differences {
  offset_ns: number; common_collectives: number; notice: string; steps: [number, number][]; pairs: [number, number][]; collectives: CollectiveChange[]; changes: Change[];
}

export interface WhatIfChange { subject: string; name: string; speedup: number }
export interface WhatIfAnswer { before_ns: number; after_ns: number; sentences: string[]; run: number | null }
export interface Prediction { step_ns: number; run: number; sentences: string[] }
export interface OpenedPlan { name: string; step_ns: number; run: number }
