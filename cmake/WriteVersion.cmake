# Writes version.cc: cmake -DARCHIVES=a.a,b.a -DVERSION=0.2.0 -DOUT=version.cc -P WriteVersion.cmake
string(REPLACE "," ";" archives "${ARCHIVES}")
set(hashes "")
foreach(archive ${archives})
  file(MD5 ${archive} hash)
  string(APPEND hashes ${hash})
endforeach()
string(MD5 build "${hashes}")
string(SUBSTRING ${build} 0 16 build)
file(WRITE ${OUT} "#include \"orrery/api/version.h\"

namespace orrery::api {

std::string_view Version() {
  return \"${VERSION}\";
}

std::string_view BuildId() {
  return \"${build}\";
}

}  // namespace orrery::api
")
