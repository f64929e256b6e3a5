// Instanced rectangles: the instances of a tile are written to the device once; a frame only moves them by uniforms.
// Positions are relative to the tile's begin, so that float32 is exact enough at any zoom.
import { kOutside, type ActivityTile, type SlicesTile } from '../decode';
import { kHatchHeight, type Canvas, type LineBatch, type Painter, type Plot, type SliceBatch } from './painter';
import type { Palette } from '../palette';
import { looksOf } from './slice_looks';
import { kUnitsOfTile } from './tiles';

const kVertex = `#version 300 es
// Lines: begin, end, line, class · 256 + share. Slices: begin, end; depth, colour, tint, whether merged.
layout(location=0) in vec4 a_place;
layout(location=1) in vec4 a_look;
uniform vec4 u_place;   // x of the tile, pixels a unit, y of the first line, pitch
uniform vec4 u_shape;   // clip from, clip to, height, number of the first line
uniform vec3 u_canvas;  // width, height, device pixels a pixel
uniform bool u_slices;
uniform vec3 u_colours[16];
uniform vec3 u_ground;
uniform float u_pale;
flat out vec3 v_colour;
flat out int v_class;
void main() {
  vec2 x = u_place.x + a_place.xy * u_place.y;
  float line = u_slices ? a_look.x : a_place.z;
  int code = u_slices ? int(a_look.y) : int(a_place.w) / 256;
  bool gone = x.y <= u_shape.x || x.x >= u_shape.y || (!u_slices && code == ${kOutside});
  x = clamp(x, u_shape.x, u_shape.y);
  float pixel = 1.0 / u_canvas.z;
  if (u_slices) {
    float wide = x.y - x.x;
    if (wide > 4.0 && a_place.y < ${kUnitsOfTile}.0) x.y -= min(1.0, 0.25 * wide);
    x.x = floor(x.x * u_canvas.z + 0.5) * pixel;
    x.y = max(x.x + pixel, floor(x.y * u_canvas.z + 0.5) * pixel);
  }
  float top = u_place.z + (line - u_shape.w) * u_place.w;
  float bottom = top + u_shape.z;
  top = floor(top * u_canvas.z + 0.5) * pixel;
  bottom = max(top + pixel, floor(bottom * u_canvas.z + 0.5) * pixel);
  vec2 at = vec2((gl_VertexID & 1) == 0 ? x.x : x.y, gl_VertexID < 2 ? top : bottom);
  gl_Position = gone ? vec4(2.0, 2.0, 2.0, 1.0) : vec4(at.x / u_canvas.x * 2.0 - 1.0, 1.0 - at.y / u_canvas.y * 2.0, 0.0, 1.0);
  vec3 colour = u_colours[min(code, 15)];
  if (u_slices) {
    float shift = (a_look.z - 128.0) / 128.0;
    colour = mix(colour, vec3(shift > 0.0 ? 1.0 : 0.0), abs(shift) * 0.45);
    if (a_look.w > 0.5) colour = mix(colour, u_ground, 0.22);
  } else if (code != 0) {
    colour = mix(u_colours[0], colour, 0.35 + 0.65 * mod(a_place.w, 256.0) / 255.0);
  }
  if (code != 6 && code != 7) colour = mix(colour, u_ground, u_pale);
  v_colour = colour;
  v_class = u_slices && code > 9 ? -1 : code;
}`;

const kFragment = `#version 300 es
precision highp float;
flat in vec3 v_colour;
flat in int v_class;
uniform bool u_hatched;
uniform vec3 u_hatch;
uniform vec3 u_hatch_bubble;
uniform float u_ratio;
out vec4 o_colour;
void main() {
  vec3 colour = v_colour;
  vec2 at = gl_FragCoord.xy / u_ratio;
  if (v_class == 6) {
    colour = u_hatched ? (mod(at.x + at.y, 6.0) < 2.2 ? u_hatch : colour) : mix(colour, u_hatch, 0.4);
  } else if (v_class == 7) {
    colour = u_hatched ? (mod(at.x - at.y, 7.0) < 1.5 ? u_hatch_bubble : colour) : mix(colour, u_hatch_bubble, 0.25);
  }
  o_colour = vec4(colour, 1.0);
}`;

interface Instances { vertices: WebGLVertexArrayObject; buffer: WebGLBuffer }

/** Compiles and links without waiting for either: whoever asks how it went waits. */
function begunProgram(gl: WebGL2RenderingContext): WebGLProgram {
  const program = gl.createProgram();
  for (const [kind, source] of [[gl.VERTEX_SHADER, kVertex], [gl.FRAGMENT_SHADER, kFragment]] as const) {
    const shader = gl.createShader(kind);
    if (!shader) throw new Error('no shader');
    gl.shaderSource(shader, source);
    gl.compileShader(shader);
    gl.attachShader(program, shader);
  }
  gl.linkProgram(program);
  return program;
}

const kPollMs = 16;
function pause(): Promise<void> { return new Promise((resolve) => setTimeout(resolve, kPollMs)); }

function bytesOfLines(tile: ActivityTile): ArrayBuffer {
  const runs = tile.beginBin.length;
  const buffer = new ArrayBuffer(runs * 8);
  const words = new Uint16Array(buffer);
  for (let i = 0; i < runs; ++i) {
    words[i * 4] = tile.beginBin[i];
    words[i * 4 + 1] = tile.endBin[i];
    words[i * 4 + 2] = tile.lineOfRun[i];
    words[i * 4 + 3] = tile.classOfRun[i] * 256 + tile.share[i];
  }
  return buffer;
}

function bytesOfSlices(tile: SlicesTile): ArrayBuffer {
  const { colour, tint } = looksOf(tile);
  const buffer = new ArrayBuffer(tile.count * 12);
  const places = new Float32Array(buffer);
  const small = new Uint8Array(buffer);
  for (let i = 0; i < tile.count; ++i) {
    places[i * 3] = tile.begin[i];
    places[i * 3 + 1] = tile.end[i];
    small[i * 12 + 8] = tile.depth[i];
    small[i * 12 + 9] = colour[i];
    small[i * 12 + 10] = tint[i];
    small[i * 12 + 11] = tile.merged[i] > 1 ? 1 : 0;
  }
  return buffer;
}

export class WebGlPainter implements Painter {
  readonly kind = 'webgl2';
  private readonly instances = new Map<object, Instances>();
  private readonly uniform: Record<string, WebGLUniformLocation | null> = {};
  private drawn = 0;

  private constructor(private readonly gl: WebGL2RenderingContext, private readonly program: WebGLProgram) {
    for (const name of ['u_place', 'u_shape', 'u_canvas', 'u_slices', 'u_colours', 'u_ground', 'u_pale', 'u_hatched', 'u_hatch',
      'u_hatch_bubble', 'u_ratio']) {
      this.uniform[name] = gl.getUniformLocation(this.program, name);
    }
  }

  /** Returns nothing where the browser has no WebGL2. The compiler works beside the page where the browser can do that. */
  static async make(canvas: HTMLCanvasElement): Promise<WebGlPainter | undefined> {
    const gl = canvas.getContext('webgl2', { alpha: true, antialias: false, depth: false, stencil: false, powerPreference: 'low-power' });
    if (!gl) return undefined;
    const program = begunProgram(gl);
    const parallel = gl.getExtension('KHR_parallel_shader_compile');
    while (parallel && !gl.getProgramParameter(program, parallel.COMPLETION_STATUS_KHR)) await pause();
    return gl.getProgramParameter(program, gl.LINK_STATUS) ? new WebGlPainter(gl, program) : undefined;
  }

  /** Resolves when everything that was drawn is in the canvas. */
  async finished(): Promise<void> {
    const { gl } = this;
    const fence = gl.fenceSync(gl.SYNC_GPU_COMMANDS_COMPLETE, 0);
    gl.flush();
    while (fence && !gl.isContextLost() && gl.getSyncParameter(fence, gl.SYNC_STATUS) !== gl.SIGNALED) await pause();
    gl.deleteSync(fence);
  }

  begin(canvas: Canvas, plot: Plot, palette: Palette, emphasis: boolean): void {
    const { gl, uniform } = this;
    this.drawn = 0;
    gl.viewport(0, 0, gl.drawingBufferWidth, gl.drawingBufferHeight);
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.SCISSOR_TEST);
    const ratio = canvas.ratio;
    gl.scissor(Math.round(plot.left * ratio), Math.round((canvas.height - plot.bottom) * ratio),
               Math.max(0, Math.round((plot.right - plot.left) * ratio)), Math.max(0, Math.round((plot.bottom - plot.top) * ratio)));
    gl.useProgram(this.program);
    gl.uniform3f(uniform.u_canvas, canvas.width, canvas.height, ratio);
    gl.uniform1f(uniform.u_ratio, ratio);
    gl.uniform3fv(uniform.u_colours, new Float32Array(palette.colours.flat()));
    gl.uniform3fv(uniform.u_ground, palette.ground);
    gl.uniform3fv(uniform.u_hatch, palette.hatch);
    gl.uniform3fv(uniform.u_hatch_bubble, palette.hatchBubble);
    gl.uniform1f(uniform.u_pale, emphasis ? 0.78 : 0);
  }

  lines(batch: LineBatch): void {
    const { gl, uniform } = this;
    const { tile } = batch;
    const from = tile.firstRun[batch.first];
    const count = tile.firstRun[batch.last + 1] - from;
    if (count <= 0) return;
    const { vertices, buffer } = this.instancesOf(tile, 1, () => bytesOfLines(tile));
    gl.bindVertexArray(vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    // WebGL2 has no first instance: the attributes begin at it.
    gl.vertexAttribPointer(0, 4, gl.UNSIGNED_SHORT, false, 8, from * 8);
    gl.uniform4f(uniform.u_place, batch.x, batch.binWidth, batch.top, batch.pitch);
    gl.uniform4f(uniform.u_shape, batch.clip[0], batch.clip[1], batch.height, batch.first);
    gl.uniform1i(uniform.u_slices, 0);
    gl.uniform1i(uniform.u_hatched, batch.height >= kHatchHeight ? 1 : 0);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, count);
    this.drawn += count;
  }

  slices(batch: SliceBatch): void {
    const { gl, uniform } = this;
    const { tile } = batch;
    if (tile.count === 0) return;
    const { vertices, buffer } = this.instancesOf(tile, 2, () => bytesOfSlices(tile));
    gl.bindVertexArray(vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, buffer);
    gl.vertexAttribPointer(0, 2, gl.FLOAT, false, 12, 0);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, false, 12, 8);
    gl.uniform4f(uniform.u_place, batch.x, batch.unitWidth, batch.top, batch.pitch);
    gl.uniform4f(uniform.u_shape, batch.clip[0], batch.clip[1], batch.height, 0);
    gl.uniform1i(uniform.u_slices, 1);
    gl.uniform1i(uniform.u_hatched, 1);
    gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, tile.count);
    this.drawn += tile.count;
  }

  end(): number {
    this.gl.bindVertexArray(null);
    return this.drawn;
  }

  release(tile: object): void {
    const made = this.instances.get(tile);
    if (!made) return;
    this.gl.deleteBuffer(made.buffer);
    this.gl.deleteVertexArray(made.vertices);
    this.instances.delete(tile);
  }

  private instancesOf(tile: object, columns: number, bytes: () => ArrayBuffer): Instances {
    const known = this.instances.get(tile);
    if (known) return known;
    const { gl } = this;
    const made = { vertices: gl.createVertexArray(), buffer: gl.createBuffer() };
    gl.bindVertexArray(made.vertices);
    gl.bindBuffer(gl.ARRAY_BUFFER, made.buffer);
    gl.bufferData(gl.ARRAY_BUFFER, bytes(), gl.STATIC_DRAW);
    for (let place = 0; place < columns; ++place) {
      gl.enableVertexAttribArray(place);
      gl.vertexAttribDivisor(place, 1);
    }
    this.instances.set(tile, made);
    return made;
  }
}
