// Drawing above the rectangles, on a canvas or as SVG.

export interface TextLook { colour: string; align?: 'left' | 'center' | 'right'; size?: number; bold?: boolean }
export interface PathLook { fill?: string; stroke?: string; width?: number; dash?: number[]; close?: boolean; alpha?: number }

export interface Pen {
  fill(x: number, y: number, width: number, height: number, colour: string, alpha?: number): void;
  /** Points are x, y, x, y … */
  path(points: number[], look: PathLook): void;
  /** `y` is the middle of the text. */
  text(x: number, y: number, text: string, look: TextLook): void;
  textWidth(text: string, size?: number, bold?: boolean): number;
  clip(x: number, y: number, width: number, height: number, draw: () => void): void;
}

export const kFont = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif';
export const kTextSize = 11.5;

function fontOf(size = kTextSize, bold = false): string {
  return `${bold ? '600 ' : ''}${size}px ${kFont}`;
}

export class CanvasPen implements Pen {
  private font = '';
  constructor(private readonly context: CanvasRenderingContext2D) {}

  /** Clears and makes a unit one CSS pixel. */
  begin(width: number, height: number, ratio: number): void {
    this.context.setTransform(ratio, 0, 0, ratio, 0, 0);
    this.context.clearRect(0, 0, width, height);
    this.context.textBaseline = 'middle';
    this.font = '';
  }

  fill(x: number, y: number, width: number, height: number, colour: string, alpha = 1): void {
    this.context.globalAlpha = alpha;
    this.context.fillStyle = colour;
    this.context.fillRect(x, y, width, height);
    this.context.globalAlpha = 1;
  }

  path(points: number[], look: PathLook): void {
    const { context } = this;
    context.beginPath();
    for (let i = 0; i + 1 < points.length; i += 2) {
      if (i === 0) context.moveTo(points[0], points[1]);
      else context.lineTo(points[i], points[i + 1]);
    }
    if (look.close) context.closePath();
    context.globalAlpha = look.alpha ?? 1;
    if (look.fill) {
      context.fillStyle = look.fill;
      context.fill();
    }
    if (look.stroke) {
      context.strokeStyle = look.stroke;
      context.lineWidth = look.width ?? 1;
      context.setLineDash(look.dash ?? []);
      context.stroke();
    }
    context.globalAlpha = 1;
  }

  text(x: number, y: number, text: string, look: TextLook): void {
    this.useFont(fontOf(look.size, look.bold));
    this.context.textAlign = look.align ?? 'left';
    this.context.fillStyle = look.colour;
    this.context.fillText(text, x, y + 0.5);
  }

  textWidth(text: string, size?: number, bold?: boolean): number {
    this.useFont(fontOf(size, bold));
    return this.context.measureText(text).width;
  }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    this.context.save();
    this.context.beginPath();
    this.context.rect(x, y, width, height);
    this.context.clip();
    this.font = '';
    draw();
    this.context.restore();
    this.font = '';
  }

  // Setting a font is slow even where it is the same.
  private useFont(font: string): void {
    if (font === this.font) return;
    this.font = font;
    this.context.font = font;
  }
}

/** Text of an attribute or element of XML. */
export function escapeXml(text: string): string {
  const kEntities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  // Control characters are not allowed in XML at all.
  return text.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, '\ufffd').replace(/[&<>"']/g, (c) => kEntities[c]);
}

export class SvgPen implements Pen {
  private readonly parts: string[] = [];
  private clips = 0;
  constructor(private readonly measure: Pen, private readonly width: number, private readonly height: number) {}

  fill(x: number, y: number, width: number, height: number, colour: string, alpha = 1): void {
    if (!(width > 0 && height > 0)) return;
    const faint = alpha < 1 ? ` fill-opacity="${number(alpha)}"` : '';
    this.parts.push(`<rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}" fill="${escapeXml(colour)}"${faint}/>`);
  }

  path(points: number[], look: PathLook): void {
    let data = '';
    for (let i = 0; i + 1 < points.length; i += 2) data += `${i ? 'L' : 'M'}${number(points[i])} ${number(points[i + 1])}`;
    const stroke = look.stroke ? ` stroke="${escapeXml(look.stroke)}" stroke-width="${number(look.width ?? 1)}"` : '';
    const dash = look.stroke && look.dash?.length ? ` stroke-dasharray="${look.dash.map(number).join(' ')}"` : '';
    const alpha = look.alpha !== undefined && look.alpha < 1 ? ` opacity="${number(look.alpha)}"` : '';
    this.parts.push(`<path d="${data}${look.close ? 'z' : ''}" fill="${escapeXml(look.fill ?? 'none')}"${stroke}${dash}${alpha}/>`);
  }

  text(x: number, y: number, text: string, look: TextLook): void {
    const anchor = look.align === 'center' ? ' text-anchor="middle"' : look.align === 'right' ? ' text-anchor="end"' : '';
    const bold = look.bold ? ' font-weight="600"' : '';
    this.parts.push(`<text x="${number(x)}" y="${number(y)}" dy=".36em" font-size="${look.size ?? kTextSize}" fill="${escapeXml(look.colour)}"` +
      `${anchor}${bold}>${escapeXml(text)}</text>`);
  }

  textWidth(text: string, size?: number, bold?: boolean): number { return this.measure.textWidth(text, size, bold); }

  clip(x: number, y: number, width: number, height: number, draw: () => void): void {
    const id = `clip${++this.clips}`;
    this.parts.push(`<clipPath id="${id}"><rect x="${number(x)}" y="${number(y)}" width="${number(width)}" height="${number(height)}"/></clipPath>` +
      `<g clip-path="url(#${id})">`);
    draw();
    this.parts.push('</g>');
  }

  finish(ground: string): string {
    return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${this.width} ${this.height}" width="${this.width}" ` +
      `height="${this.height}" font-family="${escapeXml(kFont)}">\n<rect width="100%" height="100%" fill="${escapeXml(ground)}"/>\n${this.parts.join('\n')}\n</svg>\n`;
  }
}

function number(value: number): string {
  return String(Math.round(value * 100) / 100);
}
