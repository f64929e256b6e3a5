import type { ActivityTile, SlicesTile } from '../decode';
import type { Palette } from '../palette';

/** Lines of a tile of activity, in CSS pixels of the canvas. */
export interface LineBatch {
  tile: ActivityTile;
  x: number;          // of the tile's begin
  binWidth: number;
  clip: [number, number];
  first: number;      // of the tile's lines
  last: number;
  top: number;        // of the line `first`
  pitch: number;
  height: number;
}

/** Slices of one track in one tile. */
export interface SliceBatch {
  tile: SlicesTile;
  x: number;
  unitWidth: number;
  clip: [number, number];
  top: number;        // of depth 0
  pitch: number;
  height: number;
}

export interface Canvas { width: number; height: number; ratio: number }
export interface Plot { left: number; top: number; right: number; bottom: number }

/** Draws rectangles. Between begin and end, batches in the order in which they lie above each other. */
export interface Painter {
  readonly kind: 'webgl2' | 'canvas' | 'svg';
  /** `emphasis`: whether all but waits and bubbles are pale. */
  begin(canvas: Canvas, plot: Plot, palette: Palette, emphasis: boolean): void;
  lines(batch: LineBatch): void;
  slices(batch: SliceBatch): void;
  /** Returns the number of rectangles of the frame. */
  end(): number;
  /** Forgets what is kept for a tile. */
  release(tile: object): void;
}

/** Lowest height at which hatching can be seen. */
export const kHatchHeight = 6;
