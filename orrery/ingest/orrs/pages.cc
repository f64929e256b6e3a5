#include "orrery/ingest/orrs/pages.h"

#include <cstddef>
#include <cstdint>

#include "orrery/ingest/orrs/numbers.h"
#include "orrery/stream/codes.h"

namespace orrery::ingest::orrs {
namespace {

// Joins neighbouring pages with equal counts.
class RunBuilder {
 public:
  RunBuilder(const stream::PageTouch& pages, const trace::PageRuns::Row& row, trace::PageRuns& runs)
      : first_page_(pages.first_page), row_(row), runs_(runs) {
    row_.page_bytes = Signed(pages.page_bytes);
  }

  // Pages come in ascending order.
  void Add(std::uint64_t page, std::uint64_t num_pages, std::int64_t accesses) {
    if (row_.num_pages == 0 || page != end_ || accesses != row_.accesses) {
      Flush();
      row_.address = (first_page_ + page) * static_cast<std::uint64_t>(row_.page_bytes);
      row_.accesses = accesses;
    }
    row_.num_pages = Signed(Plus(static_cast<std::uint64_t>(row_.num_pages), num_pages));
    end_ = page + num_pages;
  }

  void Flush() {
    if (row_.num_pages > 0) {
      runs_.Append(row_);
      row_.num_pages = 0;
    }
  }

 private:
  std::uint64_t first_page_;
  trace::PageRuns::Row row_;
  trace::PageRuns& runs_;
  std::uint64_t end_ = 0;
};

void AddBitmap(const stream::PageTouch& pages, RunBuilder& builder) {
  for (std::size_t page = 0; page < 8 * pages.bitmap.size(); ++page) {
    if ((static_cast<unsigned char>(pages.bitmap[page / 8]) >> (page % 8) & 1) != 0) {
      builder.Add(page, 1, -1);
    }
  }
}

void AddRuns(const stream::PageTouch& pages, RunBuilder& builder) {
  std::uint64_t page = 0;
  for (std::size_t pair = 0; pair + 1 < pages.numbers.size(); pair += 2) {
    page += pages.numbers[pair];
    if (pages.numbers[pair + 1] > 0) {
      builder.Add(page, pages.numbers[pair + 1], -1);
    }
    page += pages.numbers[pair + 1];
  }
}

void AddCounts(const stream::PageTouch& pages, RunBuilder& builder) {
  for (std::size_t page = 0; page < pages.numbers.size(); ++page) {
    if (pages.numbers[page] > 0) {
      builder.Add(page, 1, Signed(pages.numbers[page]));
    }
  }
}

}  // namespace

bool AppendPages(const stream::PageTouch& pages, trace::PageRuns::Row row, trace::PageRuns& runs) {
  if (pages.page_bytes == 0 || pages.form > stream::codes::kCounts ||
      (pages.form == stream::codes::kRuns && pages.numbers.size() % 2 != 0)) {
    return false;
  }
  RunBuilder builder(pages, row, runs);
  if (pages.form == stream::codes::kBitmap) {
    AddBitmap(pages, builder);
  } else if (pages.form == stream::codes::kRuns) {
    AddRuns(pages, builder);
  } else {
    AddCounts(pages, builder);
  }
  builder.Flush();
  return true;
}

}  // namespace orrery::ingest::orrs
